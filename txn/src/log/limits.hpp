// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_LOG_LIMITS_HPP
#define MORTISE_TXN_LOG_LIMITS_HPP

#include <cstddef>

namespace mortise::txn::log {

constexpr std::size_t branches_max = 1'024;
constexpr std::size_t key_max = 255;
/// The log remembers this many calls of each branch, the newest ones.
constexpr std::size_t calls_kept = 16;

}  // namespace mortise::txn::log

#endif
