// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_DETACHABLE_STORE_HPP
#define MORTISE_TESTS_CONFORMANCE_DETACHABLE_STORE_HPP

#include "mortise/store.hpp"

#include <atomic>
#include <cstddef>
#include <memory>

namespace mortise::test {

/// The faults of the line between a client and its store.
class faulty_line {
public:
    /// While set, every call fails with `store_unavailable` before it is sent, and no event comes
    /// through.
    std::atomic<bool> cut = false;

    /// How many calls still take effect without their answer coming back.
    std::atomic<std::size_t> replies_to_lose = 0;

    bool loses_this_reply();
};

std::unique_ptr<store>
make_detachable(std::unique_ptr<store> inner, std::shared_ptr<faulty_line> line);

}  // namespace mortise::test

#endif
