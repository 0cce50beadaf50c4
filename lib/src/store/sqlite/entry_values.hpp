// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_ENTRY_VALUES_HPP
#define MORTISE_STORE_SQLITE_ENTRY_VALUES_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/lock_mode.hpp"

#include <chrono>
#include <cstdint>

namespace mortise::sqlite_detail {
class sqlite_query;
}

namespace mortise::store_detail {

/// Reads the values of an entry that have limits. A value beyond its limits fails the connection,
/// as `sqlite_query::within` does: no store wrote it, so nothing is concluded from it.
class entry_values {
public:
    explicit entry_values(sqlite_detail::sqlite_query& query) noexcept : query_(query) {}

    lock_mode mode(int kind_column, int capacity_column);
    std::chrono::milliseconds hold_max(int column);
    std::uint64_t ordinal(int column);
    /// The token of a grant; zero for a wish.
    std::uint64_t token(int column, bool granted);
    /// The slot of a grant, whatever its mode.
    std::uint32_t slot(int column);
    /// The slot of a granted permit; zero for every other entry.
    std::uint32_t slot(int column, lock_mode mode, bool granted);
    clock::time_point since(int column);
    /// The time since then; never less than zero.
    clock::duration age(int since_column, clock::time_point now);

private:
    sqlite_detail::sqlite_query& query_;
};

}  // namespace mortise::store_detail

#endif
