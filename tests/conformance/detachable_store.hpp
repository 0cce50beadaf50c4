// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_DETACHABLE_STORE_HPP
#define MORTISE_TESTS_CONFORMANCE_DETACHABLE_STORE_HPP

#include "mortise/store.hpp"

#include <atomic>
#include <memory>

namespace mortise::test {

using cut_off = std::shared_ptr<std::atomic<bool>>;

inline cut_off cut_off_switch() {
    return std::make_shared<std::atomic<bool>>(false);
}

/// A store whose line to the server can be cut: while `cut` is set every call fails with
/// `store_unavailable` before it is sent, and no event comes through.
std::unique_ptr<store> make_detachable(std::unique_ptr<store> inner, cut_off cut);

}  // namespace mortise::test

#endif
