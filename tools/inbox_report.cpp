// SPDX-License-Identifier: BSL-1.0
#include "inbox_report.hpp"

#include "message_json.hpp"
#include "printable.hpp"
#include "text_table.hpp"

#include <ostream>
#include <utility>

namespace mortise::tool {
namespace {

using state = outbox::held_message::state;

void write_positions(std::ostream& out, const std::vector<outbox::inbox_view>& all) {
    text_table table({"INBOX", "SOURCE", "NEXT"});
    table.align_right(2);
    bool any = false;
    for (const auto& each : all) {
        for (const auto& [source, next] : each.next) {
            any = true;
            table.add({printable(each.name), printable(source), std::to_string(next)});
        }
    }
    if (!any)
        return;
    out << '\n';
    table.write(out);
}

bool holds_any(const outbox::inbox_view& of) {
    return of.retried + of.behind + of.parked > 0;
}

std::string place_text(const outbox::received& what) {
    return what.offset < 0 ? "-" : std::to_string(what.offset);
}

}  // namespace

void write_inboxes(std::ostream& out, const std::vector<outbox::inbox_view>& all) {
    text_table table({"INBOX", "SOURCES", "IDS", "RETRIED", "BEHIND", "PARKED", "OLDEST"});
    for (const std::size_t numbers : {1u, 2u, 3u, 4u, 5u, 6u})
        table.align_right(numbers);
    for (const auto& each : all)
        table.add(
            {printable(each.name),
             std::to_string(each.next.size()),
             std::to_string(each.ids),
             std::to_string(each.retried),
             std::to_string(each.behind),
             std::to_string(each.parked),
             holds_any(each) ? seconds_text(each.oldest) : "-"}
        );
    table.write(out);
    write_positions(out, all);
}

json::array inboxes_json(const std::vector<outbox::inbox_view>& all) {
    json::array made;
    for (const auto& each : all) {
        json::object one;
        set_bytes(one, "name", each.name);
        json::array sources;
        for (const auto& [source, next] : each.next) {
            json::object place;
            set_bytes(place, "source", source);
            place["next"] = next;
            sources.push_back(std::move(place));
        }
        one["sources"] = std::move(sources);
        one["ids"] = each.ids;
        one["retried"] = each.retried;
        one["behind"] = each.behind;
        one["parked"] = each.parked;
        one["oldest_seconds"] = seconds_of(each.oldest);
        made.push_back(std::move(one));
    }
    return made;
}

void held_list::add(outbox::held_message held) {
    const auto& what = held.received.message;
    if (what.key) {
        const auto key = std::make_tuple(held.inbox, what.topic, *what.key);
        const auto [place, first] = of_key_.try_emplace(key, messages_.size());
        if (!first && held.at == state::behind) {
            ++messages_[place->second].behind;
            return;
        }
        place->second = messages_.size();
    }
    messages_.push_back({std::move(held), 0});
}

std::vector<unhandled_message> held_list::messages() const {
    std::vector<unhandled_message> made;
    for (const auto& each : messages_) {
        if (each.held.at == state::parked || with_retried_)
            made.push_back(each);
    }
    return made;
}

void write_held(std::ostream& out, const std::vector<unhandled_message>& all, wall_time now) {
    text_table table(
        {"ROW",
         "INBOX",
         "STATE",
         "AGE",
         "TRIED",
         "BEHIND",
         "SOURCE",
         "PLACE",
         "TOPIC",
         "KEY",
         "WHY"}
    );
    for (const std::size_t numbers : {0u, 3u, 4u, 5u, 7u})
        table.align_right(numbers);
    for (const auto& [held, behind] : all)
        table.add(
            {std::to_string(held.row),
             printable(held.inbox),
             std::string(outbox::to_string(held.at)),
             seconds_text(since(held.arrived, now)),
             std::to_string(held.attempts),
             std::to_string(behind),
             printable(held.received.source),
             place_text(held.received),
             printable(held.received.message.topic),
             key_text(held.received.message),
             held.reason.empty() ? "-" : printable(held.reason, newlines::as_spaces)}
        );
    table.write(out);
}

json::array held_json(const std::vector<unhandled_message>& all, wall_time now) {
    json::array made;
    for (const auto& [held, behind] : all) {
        json::object one;
        one["row"] = held.row;
        set_bytes(one, "inbox", held.inbox);
        one["state"] = outbox::to_string(held.at);
        one["attempts"] = held.attempts;
        one["arrived"] = time_text(held.arrived);
        one["age_seconds"] = seconds_of(since(held.arrived, now));
        one["behind"] = behind;
        set_bytes(one, "source", held.received.source);
        if (held.received.offset >= 0)
            one["place"] = held.received.offset;
        else
            one["place"] = nullptr;
        set_bytes(one, "reason", held.reason);
        if (held.at == state::retried)
            one["due"] = time_text(held.due);
        set_message_head(one, held.received.message);
        set_message_body(one, held.received.message);
        made.push_back(std::move(one));
    }
    return made;
}

}  // namespace mortise::tool
