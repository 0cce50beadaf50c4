// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_ENTRY_VALUES_HPP
#define MORTISE_STORE_SQLITE_ENTRY_VALUES_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/lock_mode.hpp"

#include <chrono>
#include <cstdint>

namespace mortise::store_detail {

class sqlite_query;

/// Reads the values of an entry that have limits. One that is beyond them fails the connection, as
/// `sqlite_query::within` says: whoever wrote it is not a store, and nothing is concluded from it.
class entry_values {
public:
    explicit entry_values(sqlite_query& query) noexcept : query_(query) {}

    lock_mode mode(int kind_column, int capacity_column);
    std::chrono::milliseconds hold_max(int column);
    std::uint64_t ordinal(int column);
    /// Of a grant; of a wish it is zero.
    std::uint64_t token(int column, bool granted);
    /// Of a grant, whatever its mode.
    std::uint32_t slot(int column);
    /// Only the grants of permits have one.
    std::uint32_t slot(int column, lock_mode mode, bool granted);
    clock::time_point since(int column);
    /// How long ago that was; never less than zero.
    clock::duration age(int since_column, clock::time_point now);

private:
    sqlite_query& query_;
};

}  // namespace mortise::store_detail

#endif
