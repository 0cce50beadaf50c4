// SPDX-License-Identifier: BSL-1.0
#include "mortise/outbox/operate.hpp"

#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/outbox/error.hpp"
#include "table/rows.hpp"
#include "table/schema.hpp"
#include "table/shards.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace mortise::outbox {
namespace {

constexpr std::uint32_t shards_max = 256;

/// A row that is to be written anew, at the end.
struct moved_row {
    std::int64_t row;
    std::optional<std::int64_t> slot;  // none: it is parked
    std::uint32_t hash;
};

void move_to_end(db::connection& on, const moved_row& each) {
    const std::string there = each.slot ? " FROM mortise_outbox WHERE slot = "
                                        : " FROM mortise_outbox_parked WHERE id = ";
    const std::int64_t where = each.slot.value_or(each.row);
    table::count_row(on);
    on.run(
        "INSERT INTO mortise_outbox(slot, " MORTISE_OUTBOX_COLUMNS ")"
        " SELECT " MORTISE_OUTBOX_NEW_SLOT ", " MORTISE_OUTBOX_COLUMNS +
            there + "?2",
        each.hash,
        where
    );
    on.run("DELETE" + there + "?1", where);
}

std::uint32_t hash_at(const db::statement& row) {
    return table::hash_of(row.text(1), row.text_or_null(2));
}

// What is parked with this row's topic and key, and what was written after that and no relay has
// come to yet: as long as one is parked, none of those that follow is sent.
std::vector<moved_row> all_of_key(db::connection& on, std::int64_t row) {
    std::vector<moved_row> found;
    {
        auto each = on.query(
            "SELECT p.id, p.message_id, p.key FROM mortise_outbox_parked AS p,"
            " mortise_outbox_parked AS first WHERE first.id = ?1 AND p.topic = first.topic"
            " AND (p.key = first.key OR p.id = first.id) ORDER BY p.id",
            row
        );
        while (each.step())
            found.push_back({each.integer(0), std::nullopt, hash_at(each)});
    }
    if (found.empty())
        throw error(errc::no_such_row, "row " + std::to_string(row), "name one that is parked");
    auto each = on.query(
        "SELECT o.slot, o.message_id, o.key"
        " FROM mortise_outbox AS o, mortise_outbox_parked AS first WHERE first.id = ?1"
        " AND " MORTISE_OUTBOX_ROW " > ?2 AND o.topic = first.topic AND o.key = first.key",
        row,
        found.front().row
    );
    while (each.step())
        found.push_back({table::row_at(each.integer(0)), each.integer(0), hash_at(each)});
    std::sort(found.begin(), found.end(), [](const moved_row& a, const moved_row& b) {
        return a.row < b.row;
    });
    return found;
}

}  // namespace

std::size_t replay(db::connection& on, std::int64_t row) {
    table::require(on);
    const auto all = all_of_key(on, row);
    for (const auto& each : all)
        move_to_end(on, each);
    table::ring_after_commit(on);
    return all.size();
}

std::size_t replay_all(db::connection& on) {
    table::require(on);
    std::size_t replayed = 0;
    for (;;) {
        std::int64_t first = 0;
        {
            auto row = on.query("SELECT min(id) FROM mortise_outbox_parked");
            if (!row.step() || row.is_null(0))
                return replayed;
            first = row.integer(0);
        }
        replayed += replay(on, first);
    }
}

std::size_t drop(db::connection& on, std::int64_t row) {
    table::require(on);
    auto all = all_of_key(on, row);
    std::erase_if(all, [&](const moved_row& each) { return each.row == row; });
    on.run("DELETE FROM mortise_outbox_parked WHERE id = ?1", row);
    for (const auto& each : all)
        move_to_end(on, each);
    table::ring_after_commit(on);
    return all.size();
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
                errc::nothing_refused, "shard " + std::to_string(shard), "let a relay run first"
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
