// SPDX-License-Identifier: BSL-1.0
#include "outbox/outbox_report.hpp"

#include "common/printable.hpp"
#include "common/time_text.hpp"
#include "outbox/message_json.hpp"

#include <algorithm>
#include <ostream>
#include <utility>

namespace mortise::tool {

void parked_list::add(outbox::row_view row) {
    if (row.message.key) {
        const auto key = std::make_pair(row.message.topic, *row.message.key);
        const auto [place, first] = of_key_.try_emplace(key, messages_.size());
        if (!first && !row.reason) {
            ++messages_[place->second].behind;
            return;
        }
        place->second = messages_.size();
    }
    messages_.push_back({std::move(row), 0});
}

namespace {

using std::chrono::microseconds;

const char* kind_text(const outbox::row_view& row) {
    switch (row.kind) {
    case outbox::row_kind::waiting:
        return row.discarded ? "discarded" : "waiting";
    case outbox::row_kind::later:
        return "later";
    case outbox::row_kind::parked:
        break;
    }
    return row.reason ? "parked" : "behind";
}

const char* shard_state(const outbox::shard_view& what) {
    return what.refused ? "refused" : what.done ? "done" : what.newest ? "open" : "ending";
}

std::string size_text(const outbox::message& what) {
    return what.payload ? std::to_string(what.payload->size()) : "-";
}

std::string shard_text(const outbox::row_view& row) {
    return row.shard ? std::to_string(*row.shard) : "-";
}

std::string sentence_or_dash(const std::string& text) {
    return text.empty() ? "-" : sentence(text);
}

std::string mark_text(const outbox::mark& what) {
    return "row " + std::to_string(what.row) + ", sequence " + std::to_string(what.sequence);
}

bool of_another_table(const outbox::shard_view& what) {
    const auto& seen = what.refused_mark;
    return seen && (seen->table != what.last.table || seen->shard != what.shard);
}

void write_refused(std::ostream& out, const outbox::shard_view& what) {
    out << "\nshard " << what.shard << " is refused: " << sentence(*what.refused) << '\n'
        << "  the table is at " << mark_text(what.last) << "; the sink ";
    if (what.refused_mark)
        out << "is at " << mark_text(*what.refused_mark) << " of table "
            << printable(what.refused_mark->table);
    else
        out << "has no mark";
    if (of_another_table(what)) {
        out << "\n  use the right sink or database: a sink of another table is never accepted\n";
        return;
    }
    out << "\n  use the right sink or database, or say where it goes on: mortise outbox rebase "
        << what.shard << " with --after ROW, --beginning or --end\n";
}

json::object mark_json(const outbox::mark& what) {
    json::object made;
    set_bytes(made, "table", what.table);
    made["generation"] = what.generation;
    made["shard"] = what.shard;
    made["sequence"] = what.sequence;
    made["row"] = what.row;
    set_bytes(made, "message", what.message);
    return made;
}

json::object shard_json(const outbox::shard_view& what) {
    json::object made;
    made["shard"] = what.shard;
    made["state"] = shard_state(what);
    made["rows"] = what.rows;
    made["mark"] = mark_json(what.last);
    if (what.sink.empty())
        made["sink"] = nullptr;
    else
        set_bytes(made, "sink", what.sink);
    made["newest"] = what.newest;
    made["done"] = what.done;
    set_bytes_or_null(made, "refused", what.refused);
    if (what.refused) {
        if (what.refused_mark)
            made["sink_mark"] = mark_json(*what.refused_mark);
        else
            made["sink_mark"] = nullptr;
    }
    return made;
}

}  // namespace

void write_table(std::ostream& out, const outbox::table_view& what) {
    out << "table " << printable(what.id) << ": " << what.waiting << " waiting, " << what.later
        << " later, " << what.parked << " parked";
    if (what.waiting > 0)
        out << "; the oldest waits for " << seconds_text(what.oldest);
    out << "\n\n";
    text_table table({"SHARD", "WAITING", "ROW", "SEQUENCE", "STATE", "SINK"});
    for (const std::size_t numbers : {0u, 1u, 2u, 3u})
        table.align_right(numbers);
    for (const auto& each : what.shards)
        table.add(
            {std::to_string(each.shard),
             std::to_string(each.rows),
             std::to_string(each.last.row),
             std::to_string(each.last.sequence),
             shard_state(each),
             sentence_or_dash(each.sink)}
        );
    table.write(out);
    for (const auto& each : what.shards)
        if (each.refused)
            write_refused(out, each);
}

json::object table_json(const outbox::table_view& what) {
    json::object made;
    set_bytes(made, "table", what.id);
    made["waiting"] = what.waiting;
    made["later"] = what.later;
    made["parked"] = what.parked;
    made["oldest_seconds"] = seconds_of(what.oldest);
    json::array shards;
    for (const auto& each : what.shards)
        shards.push_back(shard_json(each));
    made["shards"] = std::move(shards);
    return made;
}

text_table waiting_rows() {
    text_table table({"ROW", "SHARD", "AGE", "BYTES", "TOPIC", "KEY", "ID"});
    for (const std::size_t numbers : {0u, 1u, 2u, 3u})
        table.align_right(numbers);
    return table;
}

void add_waiting(text_table& to, const outbox::row_view& row, wall_time now) {
    to.add(
        {std::to_string(row.row),
         shard_text(row),
         seconds_text(since(row.written, now)),
         size_text(row.message),
         printable(row.message.topic),
         key_text(row.message),
         printable(row.message.id)}
    );
}

text_table later_rows() {
    text_table table({"DUE", "IN", "BYTES", "TOPIC", "KEY", "ID"});
    for (const std::size_t numbers : {1u, 2u})
        table.align_right(numbers);
    return table;
}

void add_later(text_table& to, const outbox::row_view& row, wall_time now) {
    const auto due = row.message.not_before.value_or(now);
    to.add(
        {time_text(due),
         seconds_text(since(now, due)),
         size_text(row.message),
         printable(row.message.topic),
         key_text(row.message),
         printable(row.message.id)}
    );
}

void write_row(std::ostream& out, const outbox::row_view& row, wall_time now) {
    out << "row " << row.row << ": " << kind_text(row) << ", shard " << shard_text(row) << '\n';
    if (row.corrupt)
        out << "its headers cannot be read: it can only be dropped, or mended in the database\n";
    if (row.discarded)
        out << "it was discarded: the relay passes over it\n";
    if (row.reason)
        out << "why: " << sentence(*row.reason) << '\n';
    out << "id: " << printable(row.message.id) << '\n'
        << "topic: " << printable(row.message.topic) << '\n'
        << "key: " << (row.message.key ? printable(*row.message.key) : "none, so it has no order")
        << '\n'
        << "written: " << time_text(row.written) << ", " << seconds_text(since(row.written, now))
        << " ago\n";
    if (row.parked)
        out << "parked: " << time_text(*row.parked) << ", " << seconds_text(since(*row.parked, now))
            << " ago\n";
    write_message_body(out, row.message);
}

json::object row_head_json(const outbox::row_view& row, wall_time now) {
    json::object made;
    made["row"] = row.row;
    made["state"] = kind_text(row);
    if (row.shard)
        made["shard"] = *row.shard;
    set_message_head(made, row.message);
    made["written"] = time_text(row.written);
    made["age_seconds"] = seconds_of(since(row.written, now));
    if (row.parked) {
        made["parked"] = time_text(*row.parked);
        made["parked_seconds"] = seconds_of(since(*row.parked, now));
    }
    if (row.kind == outbox::row_kind::parked)
        set_bytes_or_null(made, "reason", row.reason);
    if (row.message.not_before)
        made["not_before"] = time_text(*row.message.not_before);
    made["readable"] = !row.corrupt;
    return made;
}

json::object row_json(const outbox::row_view& row, wall_time now) {
    json::object made = row_head_json(row, now);
    set_message_body(made, row.message);
    return made;
}

void write_parked(std::ostream& out, const parked_list& all, wall_time now) {
    text_table table({"ROW", "SHARD", "PARKED FOR", "BEHIND", "TOPIC", "KEY", "WHY"});
    for (const std::size_t numbers : {0u, 1u, 2u, 3u})
        table.align_right(numbers);
    for (const auto& each : all.messages())
        table.add(
            {std::to_string(each.row.row),
             shard_text(each.row),
             seconds_text(since(each.row.parked.value_or(now), now)),
             std::to_string(each.behind),
             printable(each.row.message.topic),
             key_text(each.row.message),
             sentence_or_dash(each.row.reason.value_or(""))}
        );
    table.write(out);
}

json::array parked_json(const parked_list& all, wall_time now) {
    json::array made;
    for (const auto& each : all.messages()) {
        json::object one = row_head_json(each.row, now);
        one["behind"] = each.behind;
        made.push_back(std::move(one));
    }
    return made;
}

void write_rebased(std::ostream& out, const std::vector<rebased_shard>& all) {
    for (const auto& [before, after] : all) {
        out << "shard " << after.shard << " was refused at row " << before.last.row;
        if (before.refused_mark)
            out << " (the sink at row " << before.refused_mark->row << ')';
        out << " and goes on after row " << after.last.row
            << ": up to there all counts as sent, the rows after it (" << after.rows
            << ") are sent, also those that were before";
        if (of_another_table(before))
            out << "; but at this sink it is refused again, whose mark is of another table";
        out << '\n';
    }
}

json::array rebased_json(const std::vector<rebased_shard>& all) {
    json::array made;
    for (const auto& [before, after] : all) {
        json::object one;
        one["before"] = shard_json(before);
        one["after"] = shard_json(after);
        made.push_back(std::move(one));
    }
    return made;
}

std::string event_text(const outbox::relay_event& what, wall_time now) {
    std::string text = time_text(now) + " shard " + std::to_string(what.shard) + ' ';
    text += outbox::to_string(what.type);
    if (what.row != 0) {
        const bool of_row = what.type == outbox::relay_event::kind::parked;
        text += (of_row ? " row " : ", at row ") + std::to_string(what.row);
    }
    if (what.code)
        text += ": " + sentence(what.code.message());
    if (!what.text.empty())
        text += (what.code ? " (" : ": ") + sentence(what.text) + (what.code ? ")" : "");
    return text;
}

json::object event_json(const outbox::relay_event& what, wall_time now) {
    json::object made;
    made["at"] = time_text(now);
    made["shard"] = what.shard;
    made["event"] = outbox::to_string(what.type);
    if (what.row != 0)
        made["row"] = what.row;
    if (what.code)
        made["why"] = json_text(what.code.message());
    if (!what.text.empty())
        set_bytes(made, "text", what.text);
    return made;
}

}  // namespace mortise::tool
