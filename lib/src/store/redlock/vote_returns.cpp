// SPDX-License-Identifier: BSL-1.0
#include "store/redlock/vote_returns.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <utility>

namespace mortise::store_detail {

asio::awaitable<vote_returns::outcome>
vote_returns::free(request_at_node request, std::size_t votes) {
    const auto kept = shared_from_this();
    const auto count = std::make_shared<outcome>();
    const auto round = nodes_->make_round();
    for (std::size_t node = 0; node < nodes_->size(); ++node) {
        const auto serial = nodes_->sets().serial(node);
        if (serial == 0) {
            ++count->done;  // Nothing of this session is there.
            continue;
        }
        if (!nodes_->reaches(node)) {
            owe(node, serial, request);
            ++count->owed;
            continue;
        }
        const auto take = [kept, count, request, node, serial](const result<redis_value>& reply) {
            const auto had = reply ? parse_freed(*reply) : result<bool>(reply.error());
            if (reply && !had && had.error() == errc::session_lost)
                kept->nodes_->note_gone(node);
            if (!had && kept->nodes_->sets().serial(node) == serial) {
                kept->owe(node, serial, request);
                ++count->owed;
                return;
            }
            ++count->done;
            count->had += had && *had;
        };
        nodes_->call(round, node, free_call(nodes_->node(node), request), take);
    }
    auto waiting = round->wait([count, votes, majority = nodes_->majority()] {
        return count->done >= majority && count->had >= votes;
    });
    co_await std::move(waiting);
    co_return *count;
}

void vote_returns::free_later(request_at_node request) {
    asio::co_spawn(nodes_->strand(), run(shared_from_this(), std::move(request)), asio::detached);
}

asio::awaitable<void>
vote_returns::run([[maybe_unused]] std::shared_ptr<vote_returns> self, request_at_node request) {
    auto freeing = free(std::move(request));
    co_await std::move(freeing);
}

void vote_returns::owe(std::size_t node, std::uint64_t serial, const request_at_node& request) {
    debt one;
    one.serial = serial;
    one.request = request;
    debts_[node].insert_or_assign(request.key.id, std::move(one));
}

void vote_returns::pay(std::size_t node) {
    const auto due = std::exchange(debts_[node], {});
    const auto round = nodes_->make_round();
    for (const auto& [id, each] : due) {
        if (each.serial != nodes_->sets().serial(node))
            continue;  // It ended with its session.
        const auto take = [self = shared_from_this(), node, debt = each](const auto& reply) {
            if (!reply && self->nodes_->sets().serial(node) == debt.serial)
                self->owe(node, debt.serial, debt.request);
        };
        nodes_->call(round, node, free_call(nodes_->node(node), each.request), take);
    }
}

}  // namespace mortise::store_detail
