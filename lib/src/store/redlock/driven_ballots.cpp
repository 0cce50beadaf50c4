// SPDX-License-Identifier: BSL-1.0
// How the session of a client of Redlock drives the ballots of its requests.
#include "store/redlock/redlock_requests.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <chrono>
#include <utility>

namespace mortise::store_detail {

// Sends ballots until one is decided, or a node must tell first.
asio::awaitable<redlock_requests::verdict> redlock_requests::drive(entry_ptr entry, verdict next) {
    entry->driven = true;
    while (is_current(entry) && (entry->at == stage::asking || entry->at == stage::waiting)) {
        if (next == verdict::again) {
            auto asking = ask_all(entry);
            co_await std::move(asking);
        } else {
            auto yielding = yield(entry);
            co_await std::move(yielding);
        }
        next = entry->asked.judge();
        if (next != verdict::again && next != verdict::yield)
            break;
    }
    entry->driven = false;
    co_return next;
}

asio::awaitable<void> redlock_requests::ask_all(entry_ptr entry) {
    entry->asked.begin(nodes_->latest_time());
    const auto round = nodes_->make_round();
    for (std::size_t node = 0; node < nodes_->size(); ++node) {
        if (nodes_->reaches(node))
            ask_one(round, entry, node);
    }
    constexpr std::chrono::milliseconds grace(10);  // A lease is as safe as it has nodes.
    auto waiting = round->wait([entry] { return entry->asked.is_decided(); }, grace);
    co_await std::move(waiting);
}

void redlock_requests::ask_one(
    const node_group::round_ptr& round, const entry_ptr& entry, std::size_t node
) {
    const auto take = [this, entry, node, asked = entry->asked.ask(node)](const auto& reply) {
        take_answer(entry, node, asked, reply);
    };
    nodes_->call(round, node, ask_call(nodes_->node(node), entry->at_node()), take);
}

void redlock_requests::take_answer(
    const entry_ptr& entry,
    std::size_t node,
    const ballot::question& asked,
    const result<redis_value>& reply
) {
    auto timed = reply ? parse_ballot_answer(*reply) : reply.error();
    if (reply && !timed && timed.error() == errc::session_lost)
        nodes_->note_gone(node);
    if (!is_current(entry) || entry->at == stage::held || entry->at == stage::leaving)
        return;
    if (!timed) {
        if (asked.guess == entry->asked.guess())
            entry->asked.lost(node);
        return;
    }
    nodes_->node(node).note_time(timed->time);
    entry->asked.answered(node, asked, std::move(timed->answer));
    stir(entry);
}

asio::awaitable<void> redlock_requests::yield(entry_ptr entry) {
    const auto round = nodes_->make_round();
    const auto places = entry->asked.to_yield();
    entry->asked.yielded();
    for (const std::size_t node : places) {
        if (!nodes_->reaches(node)) {
            entry->asked.not_yielded(node);
            continue;
        }
        const auto take = [this, entry, node](const auto& reply) {
            const auto freed = reply ? parse_freed(*reply) : result<bool>(reply.error());
            if (reply && !freed && freed.error() == errc::session_lost)
                nodes_->note_gone(node);
            if (!freed)
                entry->asked.not_yielded(node);  // The next heartbeat there asks again.
        };
        nodes_->call(round, node, yield_call(nodes_->node(node), entry->at_node()), take);
    }
    auto waiting = round->wait([] { return true; });
    co_await std::move(waiting);
}

// Goes on with a request that waits, if there is something to do for it.
void redlock_requests::stir(const entry_ptr& entry) {
    if (entry->driven || entry->at != stage::waiting || !is_current(entry))
        return;
    const auto next = entry->asked.judge();
    if (next != verdict::again && next != verdict::yield && next != verdict::granted)
        return;
    entry->driven = true;
    entry->driven_to_end.reset();
    asio::co_spawn(strand_, drive_waiter(shared_from_this(), entry), asio::detached);
}

asio::awaitable<void> redlock_requests::drive_waiter(
    [[maybe_unused]] std::shared_ptr<redlock_requests> self, entry_ptr entry
) {
    auto end = entry->asked.judge();
    if (end == verdict::again || end == verdict::yield) {
        auto driving = drive(entry, end);
        end = co_await std::move(driving);
    }
    entry->driven = false;
    entry->driven_to_end.set();
    if (!is_current(entry) || entry->at != stage::waiting)
        co_return;
    if (end != verdict::granted) {
        stir(entry);
        co_return;
    }
    hold(entry);
    ++changes_;
    tell(entry->as_event(store_event::kind::granted));
}

}  // namespace mortise::store_detail
