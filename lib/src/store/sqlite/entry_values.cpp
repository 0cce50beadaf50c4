// SPDX-License-Identifier: BSL-1.0
#include "store/sqlite/entry_values.hpp"

#include "mortise/options.hpp"
#include "sqlite/query.hpp"

#include <algorithm>
#include <limits>

namespace mortise::store_detail {
namespace {

constexpr std::int64_t number_max = std::numeric_limits<std::int64_t>::max();

}  // namespace

lock_mode entry_values::mode(int kind_column, int capacity_column) {
    const std::int64_t kind = query_.within(kind_column, 0, 2, "entry.mode");
    const bool permits = kind == static_cast<std::int64_t>(lock_mode::kind::permits);
    const std::int64_t most = permits ? lock_mode::capacity_max : 0;
    const std::int64_t capacity =
        query_.within(capacity_column, permits ? 1 : 0, most, "entry.capacity");
    if (permits)
        return lock_mode::permits(static_cast<std::uint32_t>(capacity));
    return kind == static_cast<std::int64_t>(lock_mode::kind::shared) ? lock_mode::shared()
                                                                      : lock_mode::exclusive();
}

std::chrono::milliseconds entry_values::hold_max(int column) {
    using std::chrono::milliseconds;
    if (query_.signed_number(column) == milliseconds::max().count())
        return milliseconds::max();
    // Of a grant that was extended it counts from the grant.
    const auto most = 2 * duration_max.count();
    return milliseconds(query_.within(column, 1, most, "entry.hold_max_ms"));
}

std::uint64_t entry_values::ordinal(int column) {
    // At most half of what the type holds: each newcomer gets one more.
    return static_cast<std::uint64_t>(query_.within(column, 1, number_max / 2, "entry.ordinal"));
}

std::uint64_t entry_values::token(int column, bool granted) {
    const std::int64_t most = granted ? number_max : 0;
    return static_cast<std::uint64_t>(query_.within(column, granted ? 1 : 0, most, "entry.token"));
}

std::uint32_t entry_values::slot(int column) {
    return static_cast<std::uint32_t>(
        query_.within(column, 0, lock_mode::capacity_max, "entry.slot")
    );
}

std::uint32_t entry_values::slot(int column, lock_mode mode, bool granted) {
    const std::int64_t most = granted ? mode.capacity() : 0;
    return static_cast<std::uint32_t>(query_.within(column, most == 0 ? 0 : 1, most, "entry.slot"));
}

clock::time_point entry_values::since(int column) {
    return clock::time_point(clock::duration(query_.within(column, 0, number_max, "entry.since")));
}

clock::duration entry_values::age(int since_column, clock::time_point now) {
    return std::max(now - since(since_column), clock::duration::zero());
}

}  // namespace mortise::store_detail
