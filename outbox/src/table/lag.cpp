// SPDX-License-Identifier: BSL-1.0
#include "table/lag.hpp"

#include "table/slot.hpp"
#include "wall_clock.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

namespace mortise::outbox::table {
namespace {

std::uint64_t count(db::connection& on, std::string_view sql) {
    auto row = on.query(sql);
    return row.step() ? static_cast<std::uint64_t>(row.integer(0)) : 0;
}

struct shard_place {
    std::uint32_t shard;
    std::int64_t sent;
};

std::vector<shard_place> places(db::connection& on) {
    std::vector<shard_place> found;
    auto row = on.query("SELECT shard, row FROM mortise_outbox_shard WHERE done = 0");
    while (row.step())
        found.push_back({static_cast<std::uint32_t>(row.integer(0)), row.integer(1)});
    return found;
}

}  // namespace

relay_lag lag_after(db::connection& on, const std::map<std::uint32_t, std::int64_t>& sent) {
    relay_lag lag;
    std::optional<std::int64_t> oldest;
    for (const auto& each : places(on)) {
        const auto known = sent.find(each.shard);
        const auto after = known == sent.end() ? each.sent : std::max(each.sent, known->second);
        const auto begin = slot_of(each.shard, after);
        const auto end = slot_of(each.shard + 1, 0);
        auto rows = on.query(
            "SELECT count(*) FROM mortise_outbox WHERE slot > ?1 AND slot < ?2", begin, end
        );
        lag.rows += rows.step() ? static_cast<std::uint64_t>(rows.integer(0)) : 0;
        auto first = on.query(
            "SELECT written FROM mortise_outbox WHERE slot > ?1 AND slot < ?2 ORDER BY slot LIMIT "
            "1",
            begin,
            end
        );
        if (first.step())
            oldest = std::min(oldest.value_or(first.integer(0)), first.integer(0));
    }
    if (oldest)
        lag.oldest = std::chrono::microseconds(std::max<std::int64_t>(wall_now() - *oldest, 0));
    lag.later = count(on, "SELECT count(*) FROM mortise_outbox_later");
    lag.parked = count(on, "SELECT count(*) FROM mortise_outbox_parked");
    return lag;
}

}  // namespace mortise::outbox::table
