// SPDX-License-Identifier: BSL-1.0
#include "mortise/outbox/operate.hpp"
#include "table/message_columns.hpp"
#include "table/schema.hpp"
#include "table/shards.hpp"
#include "wall_clock.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace mortise::outbox {
namespace {

using std::chrono::microseconds;

// Columns: id, shard or due time, the columns of the message, parked, reason.
constexpr int parked_message_column = 2;
constexpr int written_column = parked_message_column + 5;

constexpr const char* select_waiting =
    "SELECT " MORTISE_OUTBOX_ROW ", " MORTISE_OUTBOX_SHARD ", " MORTISE_OUTBOX_COLUMNS
    ", NULL, NULL FROM mortise_outbox";
constexpr const char* select_later =
    "SELECT id, due, " MORTISE_OUTBOX_COLUMNS ", NULL, NULL FROM mortise_outbox_later";
constexpr const char* select_parked =
    "SELECT id, shard, " MORTISE_OUTBOX_COLUMNS ", parked, reason FROM mortise_outbox_parked";

std::string select_of(row_kind kind) {
    switch (kind) {
    case row_kind::waiting:
        return select_waiting;
    case row_kind::later:
        return select_later;
    case row_kind::parked:
        break;
    }
    return select_parked;
}

row_view view_of(const db::statement& row, row_kind kind) {
    row_view view;
    view.kind = kind;
    view.row = row.integer(0);
    auto message = table::message_at(row, parked_message_column);
    view.corrupt = !message;
    view.discarded = row.text(parked_message_column + 1).empty();
    view.message =
        message ? std::move(*message) : table::without_headers_at(row, parked_message_column);
    if (kind == row_kind::later)
        view.message.not_before = wall_time(row.integer(1));
    else
        view.shard = static_cast<std::uint32_t>(row.integer(1));
    view.written = wall_time(row.integer(written_column));
    if (kind == row_kind::parked)
        view.parked = wall_time(row.integer(written_column + 1));
    view.reason = row.text_or_null(written_column + 2);
    return view;
}

std::uint64_t count(db::connection& on, std::string_view sql) {
    auto row = on.query(sql);
    return row.step() ? static_cast<std::uint64_t>(row.integer(0)) : 0;
}

shard_view shard_at(db::connection& on, const db::statement& row, std::uint32_t newest) {
    shard_view view;
    view.shard = static_cast<std::uint32_t>(row.integer(0));
    auto known = table::known_of(on, view.shard);
    view.last = std::move(known.last);
    view.sink = std::move(known.sink);
    view.newest = view.shard >= newest;
    view.done = row.integer(1) != 0;
    view.refused = row.text_or_null(2);
    view.refused_mark = mark::parse(row.text(3));
    auto waiting = on.query(
        "SELECT count(*) FROM mortise_outbox WHERE slot > ?1 AND slot < ?2",
        table::slot_of(view.shard, view.last.row),
        table::slot_of(view.shard + 1, 0)
    );
    view.rows = waiting.step() ? static_cast<std::uint64_t>(waiting.integer(0)) : 0;
    return view;
}

// Merges the next rows of all shards: the first of them are the first rows of the table.
std::vector<row_view> list_waiting(db::connection& on, std::int64_t after, std::size_t limit) {
    std::vector<std::int64_t> slots;
    auto each = on.query("SELECT shard FROM mortise_outbox_shard");
    while (each.step()) {
        const auto shard = static_cast<std::uint32_t>(each.integer(0));
        auto next = on.query(
            "SELECT slot FROM mortise_outbox WHERE slot > ?1 AND slot < ?2 ORDER BY slot LIMIT ?3",
            table::slot_of(shard, after),
            table::slot_of(shard + 1, 0),
            limit
        );
        while (next.step())
            slots.push_back(next.integer(0));
    }
    std::sort(slots.begin(), slots.end(), [](std::int64_t a, std::int64_t b) {
        return table::row_at(a) < table::row_at(b);
    });
    slots.resize(std::min(slots.size(), limit));
    std::vector<row_view> views;
    for (const auto slot : slots) {
        auto row = on.query(std::string(select_waiting) + " WHERE slot = ?1", slot);
        if (row.step())
            views.push_back(view_of(row, row_kind::waiting));
    }
    return views;
}

}  // namespace

table_view describe(db::connection& on) {
    table::require(on);
    table_view view;
    view.id = table::id_of(on);
    const auto newest = table::newest_layout(on);
    auto row = on.query(
        "SELECT shard, done, refused, refused_mark FROM mortise_outbox_shard ORDER BY shard"
    );
    std::int64_t oldest = 0;
    while (row.step()) {
        auto each = shard_at(on, row, newest);
        view.waiting += each.rows;
        if (each.rows > 0) {
            auto first = on.query(
                "SELECT written FROM mortise_outbox WHERE slot > ?1 ORDER BY slot LIMIT 1",
                table::slot_of(each.shard, each.last.row)
            );
            if (first.step() && (oldest == 0 || first.integer(0) < oldest))
                oldest = first.integer(0);
        }
        view.shards.push_back(std::move(each));
    }
    view.later = count(on, "SELECT count(*) FROM mortise_outbox_later");
    view.parked = count(on, "SELECT count(*) FROM mortise_outbox_parked");
    if (oldest != 0)
        view.oldest = microseconds(std::max<std::int64_t>(wall_now() - oldest, 0));
    return view;
}

std::vector<row_view>
list(db::connection& on, row_kind kind, std::int64_t after, std::size_t limit) {
    table::require(on);
    if (kind == row_kind::waiting)
        return list_waiting(on, after, limit);
    std::vector<row_view> views;
    auto row = on.query(select_of(kind) + " WHERE id > ?1 ORDER BY id LIMIT ?2", after, limit);
    while (row.step())
        views.push_back(view_of(row, kind));
    return views;
}

std::vector<row_view> find_later(db::connection& on, std::string_view id) {
    table::require(on);
    std::vector<row_view> views;
    auto row = on.query(std::string(select_later) + " WHERE message_id = ?1 ORDER BY id", id);
    while (row.step())
        views.push_back(view_of(row, row_kind::later));
    return views;
}

std::optional<row_view> find(db::connection& on, std::int64_t row) {
    table::require(on);
    if (row < 1 || row >= table::rows_end)
        return std::nullopt;
    constexpr const char* of_any_shard =
        " WHERE slot IN (SELECT " MORTISE_OUTBOX_SLOT("shard", "?1") " FROM mortise_outbox_shard)";
    for (const row_kind kind : {row_kind::waiting, row_kind::parked}) {
        const char* const where = kind == row_kind::waiting ? of_any_shard : " WHERE id = ?1";
        auto found = on.query(select_of(kind) + where, row);
        if (found.step())
            return view_of(found, kind);
    }
    return std::nullopt;
}

}  // namespace mortise::outbox
