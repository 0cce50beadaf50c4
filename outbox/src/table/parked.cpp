// SPDX-License-Identifier: BSL-1.0
// Parks rows that cannot be sent, and returns them when their topic exists again.
#include "table/parked.hpp"

#include "mortise/outbox/error.hpp"
#include "table/message_columns.hpp"
#include "table/rows.hpp"
#include "table/schema.hpp"
#include "wall_clock.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace mortise::outbox::table {
namespace {

#define MORTISE_OUTBOX_MOVE                                                                        \
    "INSERT INTO mortise_outbox_parked(id, shard, " MORTISE_OUTBOX_COLUMNS                         \
    ", parked, reason, away) SELECT " MORTISE_OUTBOX_ROW ", " MORTISE_OUTBOX_SHARD                 \
    ", " MORTISE_OUTBOX_COLUMNS ", ?2, ?3, ?4 FROM mortise_outbox AS o WHERE slot = ?1"

std::size_t drop_moved(db::connection& on, std::int64_t slot) {
    if (on.changes() == 0)
        return 0;
    on.run("DELETE FROM mortise_outbox WHERE slot = ?1", slot);
    return 1;
}

constexpr std::size_t topics_max = 100;

// The first parked row of each key.
using first_rows = std::map<std::string, std::int64_t>;

std::vector<std::uint32_t> watched_shards(db::connection& on, std::uint32_t shard) {
    std::vector<std::uint32_t> found{shard};
    auto row = on.query("SELECT shard FROM mortise_outbox_shard WHERE done != 0");
    while (row.step())
        found.push_back(static_cast<std::uint32_t>(row.integer(0)));
    return found;
}

// Finds one topic per step through the index, however many rows a topic has.
void add_topics(db::connection& on, std::uint32_t shard, std::vector<away_topic>& found) {
    std::string last;
    while (found.size() < topics_max) {
        auto row = on.query(
            "SELECT topic FROM mortise_outbox_parked WHERE away != 0 AND shard = ?1 AND topic > ?2"
            " ORDER BY topic LIMIT 1",
            shard,
            std::string_view(last)
        );
        if (!row.step())
            return;
        last = row.text(0);
        found.emplace_back(shard, last);
    }
}

// Adds all parked rows of a key, unless its first row was parked for another reason than its topic.
void add_parked(
    db::connection& on,
    const std::string& topic,
    const std::string& key,
    first_rows& firsts,
    std::vector<moved_row>& all
) {
    auto row = on.query(
        "SELECT id, message_id, away FROM mortise_outbox_parked WHERE topic = ?1 AND key = ?2"
        " ORDER BY id",
        std::string_view(topic)
    );
    row.bind_bytes(key);
    while (row.step()) {
        const auto [first, fresh] = firsts.try_emplace(key, row.integer(0));
        if (fresh && row.integer(2) == 0) {
            firsts.erase(first);
            return;
        }
        all.push_back({row.integer(0), std::nullopt, hash_of(row.text(1), key)});
    }
}

// Adds later rows of these keys that no relay has passed: none of them was sent. The mark in the
// table may be old, so `sent` limits the rows to look at in the shard that it belongs to.
void add_waiting(
    db::connection& on,
    const std::string& topic,
    std::uint32_t own_shard,
    std::int64_t sent,
    const first_rows& firsts,
    std::vector<moved_row>& all
) {
    for (const open_shard& each : open_shards(on)) {
        auto row = on.query(
            "SELECT slot, key, message_id FROM mortise_outbox"
            " WHERE slot > ?1 AND slot < ?2 AND topic = ?3 AND key IS NOT NULL",
            slot_of(
                each.shard, each.shard == own_shard ? std::max(each.marked, sent) : each.marked
            ),
            slot_of(each.shard + 1, 0),
            std::string_view(topic)
        );
        while (row.step()) {
            const std::string key = row.text_or_null(1).value_or("");
            const auto first = firsts.find(key);
            const std::int64_t number = row_at(row.integer(0));
            if (first != firsts.end() && first->second < number)
                all.push_back({number, row.integer(0), hash_of(row.text(2), key)});
        }
    }
}

}  // namespace

result<std::size_t>
park(db::connection& on, const holder& by, const std::vector<poison_row>& poison) {
    if (!holds(on, by))
        return error_code(errc::superseded);
    std::size_t moved = 0;
    for (const auto& each : poison) {
        const std::int64_t slot = slot_of(by.shard, each.row);
        on.run(
            MORTISE_OUTBOX_MOVE,
            slot,
            wall_now(),
            std::string_view(each.reason),
            std::int64_t{each.away}
        );
        moved += drop_moved(on, slot);
    }
    if (moved > 0)
        ring_after_commit(on);  // others may wait until it is sent or parked
    return moved;
}

result<std::size_t>
park_blocked(db::connection& on, const holder& by, const std::vector<std::int64_t>& rows) {
    if (!holds(on, by))
        return error_code(errc::superseded);
    std::size_t moved = 0;
    for (const auto each : rows) {
        const std::int64_t slot = slot_of(by.shard, each);
        on.run(
            MORTISE_OUTBOX_MOVE
            " AND EXISTS(SELECT 1 FROM mortise_outbox_parked AS p"
            " WHERE p.topic = o.topic AND p.key = o.key AND p.id < " MORTISE_OUTBOX_ROW ")",
            slot,
            wall_now(),
            nullptr,
            std::int64_t{0}
        );
        moved += drop_moved(on, slot);
    }
    if (moved > 0)
        ring_after_commit(on);  // others may wait until it is sent or parked
    return moved;
}

std::vector<away_topic> away_topics(db::connection& on, std::uint32_t shard) {
    std::vector<away_topic> found;
    for (const std::uint32_t each : watched_shards(on, shard))
        add_topics(on, each, found);
    return found;
}

result<returned_walk> send_returned(
    db::connection& on,
    const holder& by,
    std::int64_t sent,
    const away_topic& topic,
    returned_walk walk,
    std::size_t limit
) {
    if (!holds(on, by))
        return error_code(errc::superseded);
    if (walk.end == 0)
        walk.end = last_number(on);
    std::vector<moved_row> all;
    first_rows firsts;
    std::size_t seen = 0;
    {
        auto row = on.query(
            "SELECT id, message_id, key FROM mortise_outbox_parked"
            " WHERE away != 0 AND shard = ?1 AND topic = ?2 AND id >= ?3 AND id <= ?4"
            " ORDER BY id LIMIT ?5",
            topic.shard,
            std::string_view(topic.topic),
            walk.next,
            walk.end,
            limit
        );
        for (; row.step(); ++seen) {
            const auto key = row.text_or_null(2);
            if (!key)
                all.push_back({row.integer(0), std::nullopt, hash_of(row.text(1), key)});
            else if (!firsts.contains(*key))
                add_parked(on, topic.topic, *key, firsts, all);
            walk.next = row.integer(0) + 1;
        }
    }
    walk.more = seen == limit;
    if (!firsts.empty())
        add_waiting(on, topic.topic, by.shard, sent, firsts, all);
    walk.sent += all.size();
    if (!all.empty())
        ring_after_commit(on);
    move_to_end(on, std::move(all));
    return walk;
}

}  // namespace mortise::outbox::table
