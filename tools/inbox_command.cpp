// SPDX-License-Identifier: BSL-1.0
#include "inbox_command.hpp"

#include "await_main.hpp"
#include "change_database.hpp"
#include "database_failure.hpp"
#include "exit_code.hpp"
#include "inbox_report.hpp"
#include "mortise/db/read_only.hpp"
#include "mortise/outbox/error.hpp"
#include "mortise/outbox/inbox_view.hpp"

#include <iostream>
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
        if (settings_.what == inbox_verb::move)
            outbox::move_inbox(on, settings_.inbox, settings_.source, settings_.next);
        else if (settings_.what == inbox_verb::drop)
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
    if (settings.what == inbox_verb::move)
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
    if (settings.what == inbox_verb::move)
        return tell_move(out, global, settings);
    const bool dropped = settings.what == inbox_verb::drop;
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
        if (settings.what == inbox_verb::ls)
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
        if (thrown.code() == outbox::errc::no_such_row && settings.what == inbox_verb::move) {
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
                settings.what == inbox_verb::drop ? "no such row is parked, or tried again"
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
    if (settings.what == inbox_verb::ls || settings.what == inbox_verb::parked)
        return look_at_inboxes(global, settings, std::cout);
    asio::io_context context(1);
    return await_main(context, mend_inbox(global, settings, std::cout));
}

}  // namespace mortise::tool
