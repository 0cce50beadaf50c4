// SPDX-License-Identifier: BSL-1.0
// `mortise outbox` shows what is in a message table.
#include "common/exit_code.hpp"
#include "common/time_text.hpp"
#include "mortise/db/read_only.hpp"
#include "mortise/outbox/operate.hpp"
#include "outbox/database_work.hpp"
#include "outbox/outbox_command.hpp"
#include "outbox/outbox_report.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <utility>

namespace mortise::tool {
namespace {

using outbox_verb = outbox_settings::kind;

constexpr std::size_t row_page = 1'000;

outbox::table_view described(db::read_only& from) {
    return from.ask([](db::connection& on) { return outbox::describe(on); });
}

/// Reads rows page by page until `take` returns false.
void each_row(
    db::read_only& from, outbox::row_kind kind, const std::function<bool(outbox::row_view)>& take
) {
    std::int64_t after = 0;
    for (;;) {
        auto found =
            from.ask([&](db::connection& on) { return outbox::list(on, kind, after, row_page); });
        const bool last = found.size() < row_page;
        if (!found.empty())
            after = found.back().row;
        for (auto& each : found) {
            if (!take(std::move(each)))
                return;
        }
        if (last)
            return;
    }
}

/// The rows that `ls` counts: those behind the marks of their shards.
void each_waiting(
    db::read_only& from,
    const outbox::table_view& table,
    std::size_t limit,
    const std::function<void(const outbox::row_view&)>& take
) {
    std::map<std::uint32_t, std::int64_t> sent;
    for (const auto& each : table.shards)
        sent.emplace(each.shard, each.last.row);
    std::size_t taken = 0;
    each_row(from, outbox::row_kind::waiting, [&](const outbox::row_view& row) {
        const auto mark = sent.find(row.shard.value_or(0));
        if (mark != sent.end() && row.row <= mark->second)
            return true;
        take(row);
        return ++taken < limit;
    });
}

void list_as_json(db::read_only& from, const outbox_settings& settings, std::ostream& out) {
    const auto table = described(from);
    json::object fields = table_json(table);
    set_bytes(fields, "database", settings.database);
    if (settings.rows) {
        json::array rows;
        each_waiting(from, table, settings.rows_max, [&](const outbox::row_view& row) {
            rows.push_back(row_head_json(row, wall_now()));
        });
        fields["rows"] = std::move(rows);
    }
    out << json::serialize(fields) << '\n';
}

void list(
    db::read_only& from,
    const global_settings& global,
    const outbox_settings& settings,
    std::ostream& out
) {
    if (global.json)
        return list_as_json(from, settings, out);
    const auto table = described(from);
    write_table(out, table);
    if (!settings.rows)
        return;
    text_table rows = waiting_rows();
    each_waiting(from, table, settings.rows_max, [&](const outbox::row_view& row) {
        add_waiting(rows, row, wall_now());
    });
    out << '\n';
    rows.write(out);
}

void show(
    db::read_only& from,
    const global_settings& global,
    const outbox_settings& settings,
    std::ostream& out
) {
    const std::int64_t row = settings.row.value_or(0);
    const auto found = from.ask([row](db::connection& on) { return outbox::find(on, row); });
    if (!found) {
        throw failure(
            exit_code::nothing_to_do,
            "there is no such row: it was sent and purged, is not due yet, or never was",
            "row " + std::to_string(row),
            "`mortise outbox ls --rows` and `parked` show what there is"
        );
    }
    if (global.json)
        out << json::serialize(row_json(*found, wall_now())) << '\n';
    else
        write_row(out, *found, wall_now());
}

void list_parked(
    db::read_only& from,
    const global_settings& global,
    const outbox_settings& settings,
    std::ostream& out
) {
    parked_list all;
    each_row(from, outbox::row_kind::parked, [&](outbox::row_view row) {
        row.message.payload.reset();  // saves memory: there may be many rows
        all.add(std::move(row));
        return true;
    });
    if (!global.json)
        return write_parked(out, all, wall_now());
    json::object fields;
    set_bytes(fields, "database", settings.database);
    fields["parked"] = parked_json(all, wall_now());
    out << json::serialize(fields) << '\n';
}

void list_later(
    db::read_only& from,
    const global_settings& global,
    const outbox_settings& settings,
    std::ostream& out
) {
    text_table rows = later_rows();
    json::array as_json;
    each_row(from, outbox::row_kind::later, [&](const outbox::row_view& row) {
        if (global.json)
            as_json.push_back(row_head_json(row, wall_now()));
        else
            add_later(rows, row, wall_now());
        return true;
    });
    if (!global.json)
        return rows.write(out);
    json::object fields;
    set_bytes(fields, "database", settings.database);
    fields["later"] = std::move(as_json);
    out << json::serialize(fields) << '\n';
}

}  // namespace

int look_at_outbox(
    const global_settings& global, const outbox_settings& settings, std::ostream& out
) {
    try {
        db::read_only database(settings.database);
        if (settings.verb == outbox_verb::ls)
            list(database, global, settings, out);
        else if (settings.verb == outbox_verb::show)
            show(database, global, settings, out);
        else if (settings.verb == outbox_verb::later)
            list_later(database, global, settings, out);
        else
            list_parked(database, global, settings, out);
    } catch (const boost::system::system_error& thrown) {
        throw database_failure(thrown, settings.database);
    }
    return exit_code::success;
}

}  // namespace mortise::tool
