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

const char* shard_state(const outbox::shard_view& shard) {
    return shard.refused ? "refused" : shard.done ? "done" : shard.newest ? "open" : "ending";
}

std::string size_text(const outbox::message& message) {
    return message.payload ? std::to_string(message.payload->size()) : "-";
}

std::string shard_text(const outbox::row_view& row) {
    return row.shard ? std::to_string(*row.shard) : "-";
}

std::string sentence_or_dash(const std::string& text) {
    return text.empty() ? "-" : sentence(text);
}

std::string mark_text(const outbox::mark& mark) {
    return "row " + std::to_string(mark.row) + ", sequence " + std::to_string(mark.sequence);
}

bool of_another_table(const outbox::shard_view& shard) {
    const auto& seen = shard.refused_mark;
    return seen && (seen->table != shard.last.table || seen->shard != shard.shard);
}

void write_refused(std::ostream& out, const outbox::shard_view& shard) {
    out << "\nshard " << shard.shard << " is refused: " << sentence(*shard.refused) << '\n'
        << "  the table is at " << mark_text(shard.last) << "; the sink ";
    if (shard.refused_mark)
        out << "is at " << mark_text(*shard.refused_mark) << " of table "
            << printable(shard.refused_mark->table);
    else
        out << "has no mark";
    if (of_another_table(shard)) {
        out << "\n  use the right sink or database: a sink of another table is never accepted\n";
        return;
    }
    out << "\n  use the right sink or database, or say where it goes on: mortise outbox rebase "
        << shard.shard << " with --after ROW, --beginning or --end\n";
}

json::object mark_json(const outbox::mark& mark) {
    json::object fields;
    set_bytes(fields, "table", mark.table);
    fields["generation"] = mark.generation;
    fields["shard"] = mark.shard;
    fields["sequence"] = mark.sequence;
    fields["row"] = mark.row;
    set_bytes(fields, "message", mark.message);
    return fields;
}

json::object shard_json(const outbox::shard_view& shard) {
    json::object fields;
    fields["shard"] = shard.shard;
    fields["state"] = shard_state(shard);
    fields["rows"] = shard.rows;
    fields["mark"] = mark_json(shard.last);
    if (shard.sink.empty())
        fields["sink"] = nullptr;
    else
        set_bytes(fields, "sink", shard.sink);
    fields["newest"] = shard.newest;
    fields["done"] = shard.done;
    set_bytes_or_null(fields, "refused", shard.refused);
    if (shard.refused) {
        if (shard.refused_mark)
            fields["sink_mark"] = mark_json(*shard.refused_mark);
        else
            fields["sink_mark"] = nullptr;
    }
    return fields;
}

}  // namespace

void write_table(std::ostream& out, const outbox::table_view& view) {
    out << "table " << printable(view.id) << ": " << view.waiting << " waiting, " << view.later
        << " later, " << view.parked << " parked";
    if (view.waiting > 0)
        out << "; the oldest waits for " << seconds_text(view.oldest);
    out << "\n\n";
    text_table table({"SHARD", "WAITING", "ROW", "SEQUENCE", "STATE", "SINK"});
    for (const std::size_t numbers : {0u, 1u, 2u, 3u})
        table.align_right(numbers);
    for (const auto& each : view.shards)
        table.add(
            {std::to_string(each.shard),
             std::to_string(each.rows),
             std::to_string(each.last.row),
             std::to_string(each.last.sequence),
             shard_state(each),
             sentence_or_dash(each.sink)}
        );
    table.write(out);
    for (const auto& each : view.shards)
        if (each.refused)
            write_refused(out, each);
}

json::object table_json(const outbox::table_view& view) {
    json::object fields;
    set_bytes(fields, "table", view.id);
    fields["waiting"] = view.waiting;
    fields["later"] = view.later;
    fields["parked"] = view.parked;
    fields["oldest_seconds"] = seconds_of(view.oldest);
    json::array shards;
    for (const auto& each : view.shards)
        shards.push_back(shard_json(each));
    fields["shards"] = std::move(shards);
    return fields;
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
    json::object fields;
    fields["row"] = row.row;
    fields["state"] = kind_text(row);
    if (row.shard)
        fields["shard"] = *row.shard;
    set_message_head(fields, row.message);
    fields["written"] = time_text(row.written);
    fields["age_seconds"] = seconds_of(since(row.written, now));
    if (row.parked) {
        fields["parked"] = time_text(*row.parked);
        fields["parked_seconds"] = seconds_of(since(*row.parked, now));
    }
    if (row.kind == outbox::row_kind::parked)
        set_bytes_or_null(fields, "reason", row.reason);
    if (row.message.not_before)
        fields["not_before"] = time_text(*row.message.not_before);
    fields["readable"] = !row.corrupt;
    return fields;
}

json::object row_json(const outbox::row_view& row, wall_time now) {
    json::object fields = row_head_json(row, now);
    set_message_body(fields, row.message);
    return fields;
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
    json::array items;
    for (const auto& each : all.messages()) {
        json::object one = row_head_json(each.row, now);
        one["behind"] = each.behind;
        items.push_back(std::move(one));
    }
    return items;
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
    json::array items;
    for (const auto& [before, after] : all) {
        json::object one;
        one["before"] = shard_json(before);
        one["after"] = shard_json(after);
        items.push_back(std::move(one));
    }
    return items;
}

std::string event_text(const outbox::relay_event& event, wall_time now) {
    std::string text = time_text(now) + " shard " + std::to_string(event.shard) + ' ';
    text += outbox::to_string(event.type);
    if (event.row != 0) {
        const bool of_row = event.type == outbox::relay_event::kind::parked;
        text += (of_row ? " row " : ", at row ") + std::to_string(event.row);
    }
    if (event.code)
        text += ": " + sentence(event.code.message());
    if (!event.text.empty())
        text += (event.code ? " (" : ": ") + sentence(event.text) + (event.code ? ")" : "");
    return text;
}

json::object event_json(const outbox::relay_event& event, wall_time now) {
    json::object fields;
    fields["at"] = time_text(now);
    fields["shard"] = event.shard;
    fields["event"] = outbox::to_string(event.type);
    if (event.row != 0)
        fields["row"] = event.row;
    if (event.code)
        fields["why"] = json_text(event.code.message());
    if (!event.text.empty())
        set_bytes(fields, "text", event.text);
    return fields;
}

}  // namespace mortise::tool
