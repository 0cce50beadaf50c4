// SPDX-License-Identifier: BSL-1.0
#include "mortise/outbox/inbox_view.hpp"

#include "inbox/inbox_tables.hpp"
#include "mortise/outbox/error.hpp"
#include "table/message_columns.hpp"
#include "table/schema.hpp"
#include "wall_clock.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace mortise::outbox {
namespace {

constexpr int message_column = 9;

held_message::state state_of(std::int64_t stored) noexcept {
    switch (stored) {
    case inbox_detail::retried:
        return held_message::state::retried;
    case inbox_detail::parked:
        return held_message::state::parked;
    default:
        return held_message::state::behind;
    }
}

void count_held(db::connection& on, std::map<std::string, inbox_view>& into) {
    auto row = on.query("SELECT inbox, state, count(*) FROM mortise_inbox_held GROUP BY 1, 2");
    while (row.step()) {
        auto& at = into[row.text(0)];
        const auto count = static_cast<std::uint64_t>(row.integer(2));
        switch (state_of(row.integer(1))) {
        case held_message::state::retried:
            at.retried = count;
            break;
        case held_message::state::behind:
            at.behind = count;
            break;
        case held_message::state::parked:
            at.parked = count;
            break;
        }
    }
}

void find_oldest(db::connection& on, std::map<std::string, inbox_view>& into) {
    const std::int64_t now = wall_now();
    auto row = on.query("SELECT inbox, min(arrived) FROM mortise_inbox_held GROUP BY inbox");
    while (row.step()) {
        const auto age = std::max<std::int64_t>(now - row.integer(1), 0);
        into[row.text(0)].oldest = std::chrono::microseconds(age);
    }
}

/// Makes a parked row due. @return whether there was such a row.
bool try_again(db::connection& on, std::int64_t row) {
    on.run(
        "UPDATE mortise_inbox_held SET state = 0, due = ?2, attempts = 0"
        " WHERE id = ?1 AND state = 2",
        row,
        wall_now()
    );
    return on.changes() != 0;
}

[[noreturn]] void refuse(std::int64_t row, const char* remedy) {
    throw error(errc::no_such_row, "row " + std::to_string(row), remedy);
}

}  // namespace

std::vector<inbox_view> describe_inboxes(db::connection& on) {
    inbox_detail::require(on);
    std::map<std::string, inbox_view> found;
    {
        auto row = on.query("SELECT inbox, source, next FROM mortise_inbox_offset");
        while (row.step())
            found[row.text(0)].next.emplace(row.text(1), row.integer(2));
    }
    {
        auto row = on.query("SELECT inbox, count(*) FROM mortise_inbox_seen GROUP BY inbox");
        while (row.step())
            found[row.text(0)].ids = static_cast<std::uint64_t>(row.integer(1));
    }
    count_held(on, found);
    find_oldest(on, found);
    std::vector<inbox_view> views;
    for (auto& [name, each] : found) {
        each.name = name;
        views.push_back(std::move(each));
    }
    return views;
}

std::vector<held_message> list_held(db::connection& on, std::int64_t after, std::size_t limit) {
    inbox_detail::require(on);
    std::vector<held_message> messages;
    auto row = on.query(
        "SELECT id, inbox, source, place, state, attempts, due, reason, arrived,"
        " message_id, topic, key, payload, headers FROM mortise_inbox_held"
        " WHERE id > ?1 ORDER BY id LIMIT ?2",
        after,
        limit
    );
    while (row.step()) {
        held_message& next = messages.emplace_back();
        next.row = row.integer(0);
        next.inbox = row.text(1);
        next.received.source = row.text(2);
        next.received.offset = row.integer(3);
        next.at = state_of(row.integer(4));
        next.attempts = static_cast<std::uint32_t>(row.integer(5));
        next.due = wall_time(row.integer(6));
        next.reason = row.text(7);
        next.arrived = wall_time(row.integer(8));
        auto message = table::message_at(row, message_column);
        next.received.message =
            message ? std::move(*message) : table::without_headers_at(row, message_column);
    }
    return messages;
}

void replay_held(db::connection& on, std::int64_t row) {
    inbox_detail::require(on);
    if (!try_again(on, row))
        refuse(row, "name one that is parked");
    table::ring_after_commit(on);
}

std::size_t replay_all_held(db::connection& on) {
    inbox_detail::require(on);
    on.run(
        "UPDATE mortise_inbox_held SET state = 0, due = ?1, attempts = 0 WHERE state = 2",
        wall_now()
    );
    table::ring_after_commit(on);
    return static_cast<std::size_t>(on.changes());
}

void drop_held(db::connection& on, std::int64_t row) {
    inbox_detail::require(on);
    {
        auto found = on.query("SELECT state FROM mortise_inbox_held WHERE id = ?1", row);
        if (!found.step() || found.integer(0) == inbox_detail::behind)
            refuse(row, "name one that is parked or tried again, not one that waits behind it");
    }
    inbox_detail::release(on, row, wall_now());
    table::ring_after_commit(on);
}

void move_inbox(
    db::connection& on, std::string_view inbox, std::string_view source, std::int64_t next
) {
    inbox_detail::require(on);
    if (next < 0)
        throw error(errc::no_position, std::to_string(next), "name an offset, from zero on");
    const inbox_detail::inbox_tables tables{std::string(inbox)};
    if (!tables.next_offset(on, source))
        throw error(
            errc::no_such_row,
            "source " + std::string(source),
            "name one that the inbox has had something of: describe_inboxes lists them"
        );
    tables.set_next_offset(on, source, next);
}

std::string_view to_string(held_message::state state) noexcept {
    switch (state) {
    case held_message::state::retried:
        return "retried";
    case held_message::state::behind:
        return "behind";
    case held_message::state::parked:
        return "parked";
    }
    return "?";
}

}  // namespace mortise::outbox
