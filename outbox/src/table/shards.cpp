// SPDX-License-Identifier: BSL-1.0
#include "table/shards.hpp"

#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/outbox/error.hpp"
#include "table/rows.hpp"
#include "table/schema.hpp"
#include "wall_clock.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

namespace mortise::outbox::table {
namespace {

void remember(db::connection& on, const holder& by, const shadow& now) {
    on.run(
        "UPDATE mortise_outbox_shard SET sequence = ?2, row = ?3, message = ?4, sink = ?5,"
        " place = ?6, refused = NULL, refused_mark = NULL WHERE shard = ?1",
        by.shard,
        now.last.sequence,
        now.last.row,
        std::string_view(now.last.message),
        std::string_view(now.sink),
        std::string_view(now.place)
    );
}

// Whether this relay still has the shard, and no `rebase` has changed its generation since.
bool holds(db::connection& on, const holder& by, const shadow& now) {
    if (!holds(on, by))
        return false;
    auto row = on.query("SELECT generation FROM mortise_outbox_shard WHERE shard = ?1", by.shard);
    return row.step() && static_cast<std::uint64_t>(row.integer(0)) == now.last.generation;
}

// Deletes at most `limit` rows from the front of the range, up to the first one that is too young.
// It looks at no more rows than that, because writers wait meanwhile.
std::size_t purge_range(
    db::connection& on,
    std::int64_t begin,
    std::int64_t end,
    std::int64_t written_before,
    std::size_t limit
) {
    std::int64_t last = -1;
    {
        auto row = on.query(
            "SELECT slot, written FROM mortise_outbox WHERE slot >= ?1 AND slot < ?2"
            " ORDER BY slot LIMIT ?3",
            begin,
            end,
            limit
        );
        while (row.step() && row.integer(1) < written_before)
            last = row.integer(0);
    }
    on.run("DELETE FROM mortise_outbox WHERE slot >= ?1 AND slot <= ?2", begin, last);
    return static_cast<std::size_t>(on.changes());
}

// Finds done shards that still have rows. No relay works on them any longer.
std::vector<std::uint32_t> done_shards(db::connection& on) {
    std::vector<std::uint32_t> found;
    auto row =
        on.query("SELECT shard FROM mortise_outbox_shard WHERE done != 0 AND EXISTS(SELECT 1 FROM"
                 " mortise_outbox WHERE slot >= " MORTISE_OUTBOX_SLOT(
                     "shard", "0"
                 ) " AND slot < " MORTISE_OUTBOX_SLOT("(shard + 1)", "0") ")");
    while (row.step())
        found.push_back(static_cast<std::uint32_t>(row.integer(0)));
    return found;
}

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

std::vector<open_shard> open_shards(db::connection& on) {
    std::vector<open_shard> found;
    // The relay of a shard looks after its rows that were parked for a missing topic. If that shard
    // is done, the relays of all other shards do.
    const std::string away =
        "EXISTS(SELECT 1 FROM mortise_outbox_parked AS p WHERE p.away != 0 AND p.shard ";
    const std::string last =
        "(SELECT " MORTISE_OUTBOX_ROW " FROM mortise_outbox"
        " WHERE slot >= " MORTISE_OUTBOX_SLOT("shard", "0") " AND slot < " MORTISE_OUTBOX_SLOT(
            "(shard + 1)", "0"
        ) " ORDER BY slot DESC LIMIT 1)";
    auto row = on.query(
        "SELECT shard, row, " + last + ", " + away + "= s.shard) OR " + away +
        "IN (SELECT d.shard FROM mortise_outbox_shard AS d WHERE d.done != 0))"
        " FROM mortise_outbox_shard AS s WHERE done = 0 ORDER BY shard"
    );
    while (row.step()) {
        open_shard& next = found.emplace_back();
        next.shard = static_cast<std::uint32_t>(row.integer(0));
        next.marked = row.integer(1);
        next.last = row.integer(2);
        next.away = row.integer(3) != 0;
    }
    return found;
}

bool others_first(db::connection& on, std::uint32_t shard) {
    auto row = on.query(
        "SELECT EXISTS(SELECT 1 FROM mortise_outbox_shard WHERE done = 0 AND shard <"
        " (SELECT max(first_shard) FROM mortise_outbox_layout WHERE first_shard <= ?1))",
        shard
    );
    return row.step() && row.integer(0) != 0;
}

shadow known_of(db::connection& on, std::uint32_t shard) {
    shadow known;
    known.last.table = id_of(on);
    known.last.shard = shard;
    auto row = on.query(
        "SELECT generation, sequence, row, message, sink, place, (SELECT id FROM"
        " mortise_outbox_layout WHERE first_shard <= ?1 ORDER BY first_shard DESC LIMIT 1)"
        " FROM mortise_outbox_shard WHERE shard = ?1",
        shard
    );
    if (!row.step())
        return known;
    known.last.generation = static_cast<std::uint64_t>(row.integer(0));
    known.last.sequence = static_cast<std::uint64_t>(row.integer(1));
    known.last.row = row.integer(2);
    known.last.message = row.text(3);
    known.sink = row.text(4);
    known.place = row.text(5);
    known.last.layout = row.text(6);
    return known;
}

mark_place find_mark(db::connection& on, std::uint32_t shard, std::int64_t row) {
    mark_place found;
    found.message = message_in(on, shard, row);
    found.last_row = last_number(on);
    return found;
}

result<takeover> take(db::connection& on, std::uint32_t shard, const fencing_token& held) {
    takeover result;
    result.by = holder(shard, held);
    {
        auto row = on.query(
            "SELECT epoch, domain, done, refused IS NOT NULL FROM mortise_outbox_shard"
            " WHERE shard = ?1",
            shard
        );
        if (!row.step())
            return error_code(errc::superseded);
        const auto before = static_cast<std::uint64_t>(row.integer(0));
        if (!held)
            result.by.epoch.value = before + 1;
        else if (row.text(1) == held.domain.name() && held.value < before)
            return error_code(errc::superseded);
        result.done = row.integer(2) != 0;
        result.refused = row.integer(3) != 0;
    }
    result.known = known_of(on, shard);
    result.others_first = others_first(on, shard);
    on.run(
        "UPDATE mortise_outbox_shard SET epoch = ?2, domain = ?3 WHERE shard = ?1",
        shard,
        result.by.epoch.value,
        result.by.epoch.domain.name()
    );
    return result;
}

bool holds(db::connection& on, const holder& by) {
    auto row =
        on.query("SELECT epoch, domain FROM mortise_outbox_shard WHERE shard = ?1", by.shard);
    return row.step() && static_cast<std::uint64_t>(row.integer(0)) == by.epoch.value &&
           row.text(1) == by.epoch.domain.name();
}

result<std::size_t> purge(
    db::connection& on,
    const holder& by,
    const shadow& now,
    std::int64_t written_before,
    std::size_t limit
) {
    if (!holds(on, by, now))
        return error_code(errc::superseded);
    remember(on, by, now);
    const auto begin = slot_of(by.shard, 0);
    std::size_t purged =
        purge_range(on, begin, slot_of(by.shard, now.last.row), written_before, limit);
    for (const auto shard : done_shards(on)) {
        if (purged >= limit)
            break;
        purged += purge_range(
            on, slot_of(shard, 0), slot_of(shard + 1, 0), written_before, limit - purged
        );
    }
    ring_after_commit(on);  // Other relays learn the progress from the mark.
    MORTISE_CRASH_POINT("outbox.purging");
    return purged;
}

result<bool> finish(db::connection& on, const holder& by, const shadow& now) {
    if (!holds(on, by, now))
        return error_code(errc::superseded);
    {
        auto row = on.query(
            "SELECT ?1 < (SELECT max(first_shard) FROM mortise_outbox_layout)"
            " AND NOT EXISTS(SELECT 1 FROM mortise_outbox WHERE slot > ?2 AND slot < ?3)",
            by.shard,
            slot_of(by.shard, now.last.row),
            slot_of(by.shard + 1, 0)
        );
        if (!row.step() || row.integer(0) == 0)
            return false;
    }
    remember(on, by, now);
    on.run("UPDATE mortise_outbox_shard SET done = 1 WHERE shard = ?1", by.shard);
    ring_after_commit(on);  // Other shards may have waited for it.
    MORTISE_CRASH_POINT("outbox.finishing");
    return true;
}

error_code bind_to_sink(db::connection& on, const holder& by, const std::string& sink) {
    if (!holds(on, by))
        return errc::superseded;
    on.run(
        "UPDATE mortise_outbox_shard SET sink = ?2 WHERE shard = ?1",
        by.shard,
        std::string_view(sink)
    );
    return {};
}

error_code accept(db::connection& on, const holder& by) {
    if (!holds(on, by))
        return errc::superseded;
    on.run(
        "UPDATE mortise_outbox_shard SET refused = NULL, refused_mark = NULL WHERE shard = ?1",
        by.shard
    );
    return {};
}

error_code refuse(
    db::connection& on, const holder& by, const std::string& why, const std::optional<mark>& seen
) {
    if (!holds(on, by))
        return errc::superseded;
    auto row = on.query(
        "UPDATE mortise_outbox_shard SET refused = ?2, refused_mark = ?3 WHERE shard = ?1",
        by.shard,
        std::string_view(why)
    );
    if (seen)
        row.bind(std::string_view(seen->text()));
    else
        row.bind(nullptr);
    row.run();
    return {};
}

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
