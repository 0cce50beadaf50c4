// SPDX-License-Identifier: BSL-1.0
#include "table/rows.hpp"

#include "mortise/outbox/error.hpp"
#include "table/message_columns.hpp"
#include "table/schema.hpp"
#include "wall_clock.hpp"

#include <algorithm>
#include <utility>

namespace mortise::outbox::table {
namespace {

std::size_t size_of(const message& message) noexcept {
    std::size_t size = message.topic.size() + message.id.size();
    size += message.key ? message.key->size() : 0;
    size += message.payload ? message.payload->size() : 0;
    for (const auto& each : message.headers)
        size += each.name.size() + each.value.size();
    return size;
}

bool any_parked(db::connection& on) {
    auto row = on.query("SELECT 1 FROM mortise_outbox_parked LIMIT 1");
    return row.step();
}

}  // namespace

void count_row(db::connection& on) {
    on.run("UPDATE mortise_outbox_counter SET last_row = last_row + 1");
}

void insert(db::connection& on, const message& message, std::int64_t written) {
    count_row(on);
    auto row = on.query(
        "INSERT INTO mortise_outbox(slot, written, message_id, topic, key, payload, headers)"
        " VALUES(" MORTISE_OUTBOX_NEW_SLOT ", ?2, ?3, ?4, ?5, ?6, ?7)",
        hash_of(message.id, message.key),
        written
    );
    bind_message(row, message);
    row.run();
}

bool is_id_taken(db::connection& on, std::string_view id, std::int64_t now) {
    auto row = on.query("SELECT ends FROM mortise_outbox_id WHERE message_id = ?1", id);
    return row.step() && row.integer(0) > now;
}

void take_id(db::connection& on, std::string_view id, std::int64_t now, std::int64_t end) {
    on.run("INSERT OR REPLACE INTO mortise_outbox_id(message_id, ends) VALUES(?1, ?2)", id, end);
    on.run(
        "DELETE FROM mortise_outbox_id WHERE message_id IN"
        " (SELECT message_id FROM mortise_outbox_id WHERE ends <= ?1 ORDER BY ends LIMIT 2)",
        now
    );
}

void move_to_end(db::connection& on, std::vector<moved_row> all) {
    std::sort(all.begin(), all.end(), [](const moved_row& a, const moved_row& b) {
        return a.row < b.row;
    });
    for (const moved_row& each : all) {
        const std::string there = each.slot ? " FROM mortise_outbox WHERE slot = "
                                            : " FROM mortise_outbox_parked WHERE id = ";
        const std::int64_t where = each.slot.value_or(each.row);
        count_row(on);
        on.run(
            "INSERT INTO mortise_outbox(slot, " MORTISE_OUTBOX_COLUMNS ")"
            " SELECT " MORTISE_OUTBOX_NEW_SLOT ", " MORTISE_OUTBOX_COLUMNS +
                there + "?2",
            each.hash,
            where
        );
        on.run("DELETE" + there + "?1", where);
    }
}

void insert_later(db::connection& on, const message& message, std::int64_t due) {
    auto row = on.query(
        "INSERT INTO mortise_outbox_later"
        "(due, written, message_id, topic, key, payload, headers) VALUES(?1, ?2, ?3, ?4, ?5, ?6, "
        "?7)",
        due,
        wall_now()
    );
    bind_message(row, message);
    row.run();
}

std::size_t move_due(db::connection& on, std::int64_t now, std::size_t limit) {
    struct due_row {
        std::int64_t id;
        std::uint32_t hash;
    };
    std::vector<due_row> due;
    {
        auto row = on.query(
            "SELECT id, message_id, key FROM mortise_outbox_later"
            " WHERE due <= ?1 ORDER BY due, id LIMIT ?2",
            now,
            limit
        );
        while (row.step())
            due.push_back({row.integer(0), hash_of(row.text(1), row.text_or_null(2))});
    }
    for (const auto& each : due) {
        count_row(on);
        on.run(
            "INSERT INTO mortise_outbox(slot, " MORTISE_OUTBOX_COLUMNS ")"
            " SELECT " MORTISE_OUTBOX_NEW_SLOT ", " MORTISE_OUTBOX_COLUMNS
            " FROM mortise_outbox_later WHERE id = ?2",
            each.hash,
            each.id
        );
        on.run("DELETE FROM mortise_outbox_later WHERE id = ?1", each.id);
    }
    ring_after_commit(on);
    return due.size();
}

std::optional<std::int64_t> next_due(db::connection& on) {
    auto row = on.query("SELECT min(due) FROM mortise_outbox_later");
    if (!row.step() || row.is_null(0))
        return std::nullopt;
    return row.integer(0);
}

batch read(
    db::connection& on,
    std::uint32_t shard,
    std::int64_t after,
    std::size_t rows_max,
    std::size_t bytes_max
) {
    batch found;
    found.newest_layout = newest_layout(on);
    found.next_due = next_due(on);
#define MORTISE_OUTBOX_NEXT                                                                        \
    " FROM mortise_outbox AS o WHERE slot > ?1 AND slot < ?2 ORDER BY slot LIMIT ?3"
    constexpr const char* all_free =
        "SELECT slot, " MORTISE_OUTBOX_COLUMNS ", 0" MORTISE_OUTBOX_NEXT;
    constexpr const char* with_parked =
        "SELECT slot, " MORTISE_OUTBOX_COLUMNS ", EXISTS(SELECT 1 FROM mortise_outbox_parked AS p"
        " WHERE p.topic = o.topic AND p.key = o.key"
        " AND p.id < " MORTISE_OUTBOX_ROW ")" MORTISE_OUTBOX_NEXT;
    auto row = on.query(
        any_parked(on) ? with_parked : all_free,
        slot_of(shard, after),
        slot_of(shard + 1, 0),
        rows_max
    );
    std::size_t bytes = 0;
    std::size_t count = 0;
    while (row.step()) {
        ++count;
        if (row.integer(2 + written_column) != 0) {
            found.blocked.push_back(row_at(row.integer(0)));
            continue;
        }
        const std::int64_t number = row_at(row.integer(0));
        if (row.text(1 + topic_column).empty()) {
            found.last_row = number;
            found.last_message = row.text(1 + id_column);
            continue;
        }
        outgoing& next = found.rows.emplace_back();
        next.row = number;
        if (!read_message(row, 1, next.message)) {
            found.corrupt.push_back(next.row);
            found.rows.pop_back();
            continue;
        }
        next.written = wall_time(row.integer(1 + written_column));
        found.last_row = number;
        found.last_message = next.message.id;
        bytes += size_of(next.message);
        if (bytes >= bytes_max) {
            found.more = true;
            return found;
        }
    }
    found.more = count == rows_max;
    return found;
}

std::optional<std::string> message_in(db::connection& on, std::uint32_t shard, std::int64_t row) {
    auto found =
        on.query("SELECT message_id FROM mortise_outbox WHERE slot = ?1", slot_of(shard, row));
    if (!found.step())
        return std::nullopt;
    return found.text(0);
}

std::int64_t last_row(db::connection& on, std::uint32_t shard) {
    auto found = on.query(
        "SELECT slot FROM mortise_outbox WHERE slot >= ?1 AND slot < ?2 ORDER BY slot DESC LIMIT 1",
        slot_of(shard, 0),
        slot_of(shard + 1, 0)
    );
    return found.step() ? row_at(found.integer(0)) : 0;
}

}  // namespace mortise::outbox::table
