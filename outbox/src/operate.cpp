// SPDX-License-Identifier: BSL-1.0
#include "mortise/outbox/operate.hpp"

#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/outbox/error.hpp"
#include "table/message_columns.hpp"
#include "table/rows.hpp"
#include "table/schema.hpp"
#include "table/shards.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace mortise::outbox {
namespace {

using table::moved_row;

constexpr std::uint32_t shards_max = 256;

std::uint32_t hash_at(const db::statement& row) {
    return table::hash_of(row.text(1), row.text_or_null(2));
}

// Finds the parked rows with the topic and key of this row, and the later rows that no relay has
// passed. Those later rows are not sent while a row of their key is parked.
std::vector<moved_row> all_of_key(db::connection& on, std::int64_t row) {
    std::vector<moved_row> found;
    bool has_key = false;
    {
        auto each = on.query(
            "SELECT p.id, p.message_id, p.key FROM mortise_outbox_parked AS p,"
            " mortise_outbox_parked AS first WHERE first.id = ?1 AND p.topic = first.topic"
            " AND (p.key = first.key OR p.id = first.id) ORDER BY p.id",
            row
        );
        while (each.step()) {
            found.push_back({each.integer(0), std::nullopt, hash_at(each)});
            has_key = !each.is_null(2);
        }
    }
    if (found.empty())
        throw error(errc::no_such_row, "row " + std::to_string(row), "name one that is parked");
    if (!has_key)
        return found;
    // A layout has all rows of a key in one shard.
    auto each = on.query(
        "SELECT o.slot, o.message_id, o.key FROM mortise_outbox_parked AS first,"
        " mortise_outbox_layout AS l, mortise_outbox AS o WHERE first.id = ?1"
        " AND o.slot > " MORTISE_OUTBOX_SLOT(
            "(l.first_shard + ?3 % l.shards)", "?2"
        ) " AND o.slot < " MORTISE_OUTBOX_SLOT("(l.first_shard + ?3 % l.shards + 1)", "0") " AND "
                                                                                           "o."
                                                                                           "topic "
                                                                                           "= "
                                                                                           "first."
                                                                                           "topic "
                                                                                           "AND "
                                                                                           "o.key "
                                                                                           "= "
                                                                                           "first."
                                                                                           "key",
        row,
        found.front().row,
        found.front().hash
    );
    while (each.step())
        found.push_back({table::row_at(each.integer(0)), each.integer(0), hash_at(each)});
    return found;
}

/// A topic and a key in it. Messages that share both keep their order.
using topic_and_key = std::pair<std::string, std::string>;

// Finds the keys of the first parked messages, at most `limit` messages. Messages without a key are
// independent and go into `without_key`.
std::set<topic_and_key> first_keys(
    db::connection& on, std::optional<std::size_t> limit, std::vector<moved_row>& without_key
) {
    std::set<topic_and_key> found;
    auto each =
        on.query("SELECT id, message_id, key, topic FROM mortise_outbox_parked ORDER BY id LIMIT ?1"
        );
    if (limit)
        each.bind(*limit);
    else
        each.bind(std::int64_t{-1});
    while (each.step()) {
        if (const auto key = each.text_or_null(2))
            found.emplace(each.text(3), *key);
        else
            without_key.push_back({each.integer(0), std::nullopt, hash_at(each)});
    }
    return found;
}

// Finds all rows of several keys, those of the messages parked first. A key must move completely:
// rows left behind would come before the moved ones and be sent after them. Rows that a relay has
// passed need no look: it parked those of such a key.
std::vector<moved_row> all_of_first_keys(db::connection& on, std::optional<std::size_t> limit) {
    std::vector<moved_row> found;
    const auto keys = first_keys(on, limit, found);
    std::map<topic_and_key, std::int64_t> first_of;
    for (const auto& each : keys) {
        auto parked = on.query(
            "SELECT id, message_id, key FROM mortise_outbox_parked WHERE topic = ?1 AND key = ?2"
            " ORDER BY id",
            std::string_view(each.first)
        );
        parked.bind_bytes(each.second);
        while (parked.step()) {
            first_of.try_emplace(each, parked.integer(0));
            found.push_back({parked.integer(0), std::nullopt, hash_at(parked)});
        }
    }
    if (keys.empty()) {
        return found;
    }
    for (const table::open_shard& shard : table::open_shards(on)) {
        auto each = on.query(
            "SELECT slot, message_id, key, topic FROM mortise_outbox"
            " WHERE slot > ?1 AND slot < ?2 AND key IS NOT NULL",
            table::slot_of(shard.shard, shard.marked),
            table::slot_of(shard.shard + 1, 0)
        );
        while (each.step()) {
            const std::int64_t row = table::row_at(each.integer(0));
            const auto first = first_of.find({each.text(3), each.text_or_null(2).value_or("")});
            if (first != first_of.end() && first->second < row)
                found.push_back({row, each.integer(0), hash_at(each)});
        }
    }
    return found;
}

std::size_t send_again(db::connection& on, std::vector<moved_row> all) {
    const std::size_t count = all.size();
    table::move_to_end(on, std::move(all));
    table::ring_after_commit(on);
    return count;
}

}  // namespace

std::size_t replay(db::connection& on, std::int64_t row) {
    table::require(on);
    return send_again(on, all_of_key(on, row));
}

std::size_t replay(db::connection& on, std::int64_t row, const message& edited) {
    table::require(on);
    table::check_message(edited);
    auto all = all_of_key(on, row);
    message whole = edited;
    if (whole.id.empty()) {
        auto known = on.query("SELECT message_id FROM mortise_outbox_parked WHERE id = ?1", row);
        if (known.step())
            whole.id = known.text(0);
    }
    auto change = on.query(
        "UPDATE mortise_outbox_parked SET message_id = ?2, topic = ?3, key = ?4, payload = ?5,"
        " headers = ?6 WHERE id = ?1",
        row
    );
    table::bind_message(change, whole);
    change.run();
    for (auto& each : all) {
        if (each.row == row)
            each.hash = table::hash_of(whole.id, whole.key);
    }
    return send_again(on, std::move(all));
}

std::size_t replay_all(db::connection& on) {
    table::require(on);
    return send_again(on, all_of_first_keys(on, std::nullopt));
}

std::size_t replay_some(db::connection& on, std::size_t limit) {
    table::require(on);
    return send_again(on, all_of_first_keys(on, std::max<std::size_t>(limit, 1)));
}

std::size_t drop(db::connection& on, std::int64_t row) {
    table::require(on);
    auto all = all_of_key(on, row);
    std::erase_if(all, [&](const moved_row& each) { return each.row == row; });
    on.run("DELETE FROM mortise_outbox_parked WHERE id = ?1", row);
    return send_again(on, std::move(all));
}

void discard(db::connection& on, std::int64_t row) {
    table::require(on);
    if (row > 0 && row < table::rows_end)
        on.run(
            "UPDATE mortise_outbox SET topic = '', key = NULL, payload = NULL, headers = NULL"
            " WHERE topic <> '' AND slot IN (SELECT " MORTISE_OUTBOX_SLOT(
                "shard", "?1"
            ) " FROM"
              " mortise_outbox_shard WHERE row < ?1)",
            row
        );
    if (row <= 0 || row >= table::rows_end || on.changes() == 0)
        throw error(
            errc::no_such_row,
            "row " + std::to_string(row),
            "name one that waits: `mortise outbox ls --rows` shows them"
        );
    table::ring_after_commit(on);
}

std::size_t cancel(db::connection& on, std::string_view id) {
    table::require(on);
    on.run("DELETE FROM mortise_outbox_later WHERE message_id = ?1", id);
    const auto cancelled = static_cast<std::size_t>(on.changes());
    if (cancelled > 0)
        on.run("DELETE FROM mortise_outbox_id WHERE message_id = ?1", id);
    table::ring_after_commit(on);
    return cancelled;
}

std::size_t
reschedule(db::connection& on, std::string_view id, std::chrono::system_clock::time_point due) {
    using std::chrono::microseconds;
    table::require(on);
    on.run(
        "UPDATE mortise_outbox_later SET due = ?2 WHERE message_id = ?1",
        id,
        std::chrono::ceil<microseconds>(due.time_since_epoch()).count()
    );
    const auto moved = static_cast<std::size_t>(on.changes());
    table::ring_after_commit(on);
    return moved;
}

void rebase(db::connection& on, std::uint32_t shard, position where) {
    table::require(on);
    auto known = table::known_of(on, shard).last;
    {
        auto row = on.query(
            "SELECT refused, refused_mark FROM mortise_outbox_shard WHERE shard = ?1", shard
        );
        if (!row.step())
            throw error(
                errc::no_such_row,
                "shard " + std::to_string(shard),
                "`mortise outbox ls` shows them"
            );
        if (row.is_null(0))
            throw error(
                errc::nothing_refused,
                "shard " + std::to_string(shard),
                "let a relay run first; if it cannot open its sink, as when it cannot read the mark"
                " there, mend that first: it says so in its events"
            );
        if (const auto seen = mark::parse(row.text(1))) {
            known.generation = std::max(known.generation, seen->generation);
            known.sequence = std::max(known.sequence, seen->sequence);
        }
    }
    if (where.row() > table::last_number(on))
        throw error(
            errc::no_such_row,
            "row " + std::to_string(where.row()),
            "the last row that was written has the number " + std::to_string(table::last_number(on))
        );
    known.row = where.row() >= 0 ? where.row() : std::max(known.row, table::last_row(on, shard));
    on.run(
        "UPDATE mortise_outbox_shard SET generation = ?2, sequence = ?3, row = ?4, message = '',"
        " sink = '', place = '', refused = NULL, refused_mark = NULL WHERE shard = ?1",
        shard,
        known.generation + 1,
        known.sequence,
        known.row
    );
    table::ring_after_commit(on);
}

void reshard(db::connection& on, std::uint32_t shards) {
    if (shards < 1 || shards > shards_max)
        throw error(errc::bad_shards, std::to_string(shards) + " shards", "use 1 to 256");
    table::make(on);
    {
        auto row =
            on.query("SELECT shards FROM mortise_outbox_layout ORDER BY first_shard DESC LIMIT 1");
        if (row.step() && row.integer(0) == shards)
            return;
    }
    table::add_layout(on, shards);
    table::ring_after_commit(on);
    MORTISE_CRASH_POINT("outbox.resharding");
}

}  // namespace mortise::outbox
