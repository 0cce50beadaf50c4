// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_PAIRED_STORE_HPP
#define MORTISE_TESTS_SUPPORT_PAIRED_STORE_HPP

#include "mortise/store.hpp"

#include <memory>
#include <string_view>

namespace mortise::test {

/// Which of the two servers has a lock of that name: the number of its proof.
proof_number half_of(std::string_view name) noexcept;

/// One store at two servers that fail one at a time: each has the locks of half of the names, with
/// a session and a proof of its own. It records breaks, and cannot watch for changes.
std::unique_ptr<store>
make_paired_store(std::unique_ptr<store> first, std::unique_ptr<store> second);

}  // namespace mortise::test

#endif
