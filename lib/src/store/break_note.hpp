// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_BREAK_NOTE_HPP
#define MORTISE_STORE_BREAK_NOTE_HPP

#include "mortise/store_types.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace mortise::store_detail {

// Limits and texts of the record that a store keeps of each broken lock.

/// How many records a store keeps.
inline constexpr std::size_t breaks_kept = 1'000;

/// How many holders one record names.
inline constexpr std::size_t holders_named = 8;

/// Names the holders of a lock: host, process and label of the parties in `first`, which are the
/// first of `count` holders.
std::string holders_text(const std::vector<party_view>& first, std::size_t count);

/// The time of day, for records that people read. No decision rests on it.
std::chrono::system_clock::time_point time_of_day() noexcept;

}  // namespace mortise::store_detail

#endif
