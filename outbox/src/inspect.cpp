// SPDX-License-Identifier: BSL-1.0
#include "mortise/outbox/operate.hpp"
#include "table/rows.hpp"
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
using std::chrono::system_clock;

system_clock::time_point time_of(std::int64_t since) noexcept {
    return system_clock::time_point(microseconds(since));
}

// Columns: id, shard or due, those of the message, parked, reason.
constexpr int message_column = 2;
constexpr int written_column = message_column + 5;

constexpr const char* select_waiting =
    "SELECT id, shard, " MORTISE_OUTBOX_COLUMNS ", NULL, NULL FROM mortise_outbox";
constexpr const char* select_later =
    "SELECT id, due, " MORTISE_OUTBOX_COLUMNS ", NULL, NULL FROM mortise_outbox_later";
constexpr const char* select_parked =
    "SELECT id, shard, " MORTISE_OUTBOX_COLUMNS ", parked, reason FROM mortise_outbox_parked";

std::string select_of(row_kind which) {
    switch (which) {
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
    row_view made;
    made.kind = kind;
    made.row = row.integer(0);
    auto what = table::message_at(row, message_column);
    made.corrupt = !what;
    made.what = what ? std::move(*what) : table::without_headers_at(row, message_column);
    if (kind == row_kind::later)
        made.what.not_before = time_of(row.integer(1));
    else
        made.shard = static_cast<std::uint32_t>(row.integer(1));
    made.written = time_of(row.integer(written_column));
    if (kind == row_kind::parked)
        made.parked = time_of(row.integer(written_column + 1));
    made.reason = row.text_or_null(written_column + 2);
    return made;
}

std::uint64_t count(db::connection& on, std::string_view sql) {
    auto row = on.query(sql);
    return row.step() ? static_cast<std::uint64_t>(row.integer(0)) : 0;
}

shard_view shard_at(db::connection& on, const db::statement& row, std::uint32_t newest) {
    shard_view made;
    made.shard = static_cast<std::uint32_t>(row.integer(0));
    auto known = table::known_of(on, made.shard);
    made.last = std::move(known.last);
    made.sink = std::move(known.sink);
    made.newest = made.shard >= newest;
    made.done = row.integer(1) != 0;
    made.refused = row.text_or_null(2);
    made.refused_mark = mark::parse(row.text(3));
    auto waiting = on.query(
        "SELECT count(*) FROM mortise_outbox WHERE shard = ?1 AND id > ?2",
        made.shard,
        made.last.row
    );
    made.rows = waiting.step() ? static_cast<std::uint64_t>(waiting.integer(0)) : 0;
    return made;
}

}  // namespace

table_view describe(db::connection& on) {
    table::require(on);
    table_view made;
    made.id = table::id_of(on);
    const auto newest = table::newest_layout(on);
    auto row = on.query(
        "SELECT shard, done, refused, refused_mark FROM mortise_outbox_shard ORDER BY shard"
    );
    std::int64_t oldest = 0;
    while (row.step()) {
        auto each = shard_at(on, row, newest);
        made.waiting += each.rows;
        if (each.rows > 0) {
            auto first = on.query(
                "SELECT written FROM mortise_outbox WHERE shard = ?1 AND id > ?2 ORDER BY id"
                " LIMIT 1",
                each.shard,
                each.last.row
            );
            if (first.step() && (oldest == 0 || first.integer(0) < oldest))
                oldest = first.integer(0);
        }
        made.shards.push_back(std::move(each));
    }
    made.later = count(on, "SELECT count(*) FROM mortise_outbox_later");
    made.parked = count(on, "SELECT count(*) FROM mortise_outbox_parked");
    if (oldest != 0)
        made.oldest = microseconds(std::max<std::int64_t>(wall_now() - oldest, 0));
    return made;
}

std::vector<row_view>
list(db::connection& on, row_kind which, std::int64_t after, std::size_t limit) {
    table::require(on);
    std::vector<row_view> made;
    auto row = on.query(select_of(which) + " WHERE id > ?1 ORDER BY id LIMIT ?2", after, limit);
    while (row.step())
        made.push_back(view_of(row, which));
    return made;
}

std::optional<row_view> find(db::connection& on, std::int64_t row) {
    table::require(on);
    for (const row_kind which : {row_kind::waiting, row_kind::parked}) {
        auto found = on.query(select_of(which) + " WHERE id = ?1", row);
        if (found.step())
            return view_of(found, which);
    }
    return std::nullopt;
}

}  // namespace mortise::outbox
