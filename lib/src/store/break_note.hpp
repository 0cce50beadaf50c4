// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_BREAK_NOTE_HPP
#define MORTISE_STORE_BREAK_NOTE_HPP

#include "mortise/store_types.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace mortise::store_detail {

// What a record of a broken lock says besides the order.

/// How many records a store keeps.
inline constexpr std::size_t breaks_kept = 1'000;

/// How many holders one record names.
inline constexpr std::size_t holders_named = 8;

/// Who held the lock: host, process and label of those given, who are the first of `count`.
std::string holders_text(const std::vector<party_view>& first, std::size_t count);

/// The time of day. For people only: no decision rests on it.
std::chrono::system_clock::time_point time_of_day() noexcept;

}  // namespace mortise::store_detail

#endif
