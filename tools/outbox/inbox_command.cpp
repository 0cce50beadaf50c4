// SPDX-License-Identifier: BSL-1.0
#include "outbox/inbox_command.hpp"

#include "common/await_main.hpp"
#include "common/exit_code.hpp"
#include "common/printable.hpp"
#include "common/text_table.hpp"
#include "mortise/db/read_only.hpp"
#include "mortise/outbox/error.hpp"
#include "mortise/outbox/inbox_view.hpp"
#include "outbox/database_work.hpp"
#include "outbox/message_json.hpp"

#include <iostream>
#include <ostream>
#include <string>
#include <utility>

namespace mortise::tool {
namespace {

using inbox_verb = inbox_settings::kind;

constexpr std::size_t held_page = 1'000;

held_list held_in(db::read_only& from, bool with_retried) {
    held_list all(with_retried);
    std::int64_t after = 0;
    for (;;) {
        auto found =
            from.ask([&](db::connection& on) { return outbox::list_held(on, after, held_page); });
        const bool last = found.size() < held_page;
        if (!found.empty())
            after = found.back().row;
        for (auto& each : found)
            all.add(std::move(each));
        if (last)
            return all;
    }
}

void list(
    db::read_only& from,
    const global_settings& global,
    const inbox_settings& settings,
    std::ostream& out
) {
    const auto all = from.ask([](db::connection& on) { return outbox::describe_inboxes(on); });
    if (!global.json)
        return write_inboxes(out, all);
    json::object fields;
    set_bytes(fields, "database", settings.database);
    fields["inboxes"] = inboxes_json(all);
    out << json::serialize(fields) << '\n';
}

void list_parked(
    db::read_only& from,
    const global_settings& global,
    const inbox_settings& settings,
    std::ostream& out
) {
    const auto all = held_in(from, settings.all).messages();
    if (!global.json)
        return write_held(out, all, wall_now());
    json::object fields;
    set_bytes(fields, "database", settings.database);
    fields["parked"] = held_json(all, wall_now());
    out << json::serialize(fields) << '\n';
}

/// Fails if there is no inbox. The command must not create one.
void require_inbox(const std::string& database) {
    db::read_only looked(database);
    looked.ask([](db::connection& on) { return outbox::list_held(on, 0, 1); });
}

/// An operator's order, run in a transaction. @return how many messages or sources it changed.
class inbox_order {
public:
    explicit inbox_order(const inbox_settings& settings) : settings_(settings) {}

    std::size_t operator()(db::connection& on) const {
        const std::int64_t row = settings_.row.value_or(0);
        if (settings_.verb == inbox_verb::move)
            outbox::move_inbox(on, settings_.inbox, settings_.source, settings_.next);
        else if (settings_.verb == inbox_verb::drop)
            outbox::drop_held(on, row);
        else if (settings_.all)
            return outbox::replay_all_held(on);
        else
            outbox::replay_held(on, row);
        return 1;
    }

private:
    const inbox_settings& settings_;
};

std::string subject_of(const inbox_settings& settings) {
    if (settings.verb == inbox_verb::move)
        return settings.inbox + ": " + settings.source;
    return settings.all ? "all rows" : "row " + std::to_string(settings.row.value_or(0));
}

void tell_move(std::ostream& out, const global_settings& global, const inbox_settings& settings) {
    if (!global.json) {
        out << "move " << subject_of(settings) << ": goes on with offset " << settings.next << '\n';
        return;
    }
    json::object fields;
    fields["order"] = "move";
    set_bytes(fields, "inbox", settings.inbox);
    set_bytes(fields, "source", settings.source);
    fields["next"] = settings.next;
    out << json::serialize(fields) << '\n';
}

void tell(
    std::ostream& out,
    const global_settings& global,
    const inbox_settings& settings,
    std::size_t messages
) {
    if (settings.verb == inbox_verb::move)
        return tell_move(out, global, settings);
    const bool dropped = settings.verb == inbox_verb::drop;
    if (global.json) {
        json::object fields;
        fields["order"] = dropped ? "drop" : "replay";
        if (settings.row)
            fields["row"] = *settings.row;
        fields["messages"] = messages;
        out << json::serialize(fields) << '\n';
        return;
    }
    out << (dropped ? "drop " : "replay ") << subject_of(settings) << ": ";
    if (dropped)
        out << "given up, what waits behind it is tried\n";
    else
        out << messages << (messages == 1 ? " message is" : " messages are") << " tried again\n";
}

}  // namespace

int look_at_inboxes(
    const global_settings& global, const inbox_settings& settings, std::ostream& out
) {
    try {
        db::read_only database(settings.database);
        if (settings.verb == inbox_verb::ls)
            list(database, global, settings, out);
        else
            list_parked(database, global, settings, out);
    } catch (const boost::system::system_error& thrown) {
        throw database_failure(thrown, settings.database);
    }
    return exit_code::success;
}

asio::awaitable<int>
mend_inbox(const global_settings& global, const inbox_settings& settings, std::ostream& out) {
    std::size_t messages = 0;
    try {
        require_inbox(settings.database);
        auto doing = change_database(settings.database, inbox_order(settings));
        messages = co_await std::move(doing);
    } catch (const boost::system::system_error& thrown) {
        if (thrown.code() == outbox::errc::no_such_row && settings.verb == inbox_verb::move) {
            throw failure(
                exit_code::nothing_to_do,
                "that inbox has had nothing of that source, by its offset",
                subject_of(settings),
                "`mortise inbox ls` shows inboxes and their sources"
            );
        }
        if (thrown.code() == outbox::errc::no_such_row) {
            throw failure(
                exit_code::nothing_to_do,
                settings.verb == inbox_verb::drop ? "no such row is parked, or tried again"
                                                  : "no such row is parked",
                subject_of(settings),
                "`mortise inbox parked --all` shows those that are"
            );
        }
        throw database_failure(thrown, settings.database);
    }
    if (messages == 0)
        throw failure(exit_code::nothing_to_do, "nothing is parked", settings.database);
    tell(out, global, settings, messages);
    co_return exit_code::success;
}

int inboxes(const global_settings& global, const inbox_settings& settings) {
    if (settings.verb == inbox_verb::ls || settings.verb == inbox_verb::parked)
        return look_at_inboxes(global, settings, std::cout);
    asio::io_context context(1);
    return await_main(context, mend_inbox(global, settings, std::cout));
}

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

std::string place_text(const outbox::received& received) {
    return received.offset < 0 ? "-" : std::to_string(received.offset);
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
    json::array items;
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
        items.push_back(std::move(one));
    }
    return items;
}

void held_list::add(outbox::held_message held) {
    const auto& message = held.received.message;
    if (message.key) {
        const auto key = std::make_tuple(held.inbox, message.topic, *message.key);
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
    std::vector<unhandled_message> messages;
    for (const auto& each : messages_) {
        if (each.held.at == state::parked || with_retried_)
            messages.push_back(each);
    }
    return messages;
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
    json::array items;
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
        items.push_back(std::move(one));
    }
    return items;
}

}  // namespace mortise::tool
