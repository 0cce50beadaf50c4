// SPDX-License-Identifier: BSL-1.0
#include "store/redis/node_connection.hpp"

#include "mortise/coro/detail/with_code.hpp"
#include "store/redis/shared_wire.hpp"
#include "store/redis/socket_wire.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::store_detail {
namespace {

constexpr std::size_t left_channels_max = 1'000;

}  // namespace

redis_failure lost_connection() {
    return {errc::store_unavailable, "the connection was closed"};
}

node_connection::node_connection(
    const asio::any_io_executor& strand,
    wire_settings node,
    std::string address,
    std::weak_ptr<node_connections> list
)
    : address_(std::move(address)),
      list_(std::move(list)),
      wire_(make_socket_wire(strand, std::move(node))),
      opened_(strand),
      waits_(strand, error_code(errc::outcome_unknown), [this](const writes& all) {
          return carry_out(all);
      }) {}

void node_connection::forget(shared_wire& wire) noexcept {
    wires_.erase(&wire);
    for (auto at = channels_.begin(); at != channels_.end();) {
        const bool its_own = at->second == &wire;
        left_channels_ += its_own ? 1u : 0u;
        at = its_own ? channels_.erase(at) : std::next(at);
    }
}

// The last one closes it.
void node_connection::leave(shared_wire& wire) noexcept {
    forget(wire);
    const auto list = list_.lock();
    if (unused() && !(list && list->keeps_unused()))
        close();
}

asio::awaitable<redis_failure> node_connection::open() {
    const auto kept = shared_from_this();
    if (!std::exchange(opening_, true)) {
        auto opening = wire_->open(*this);
        auto failure = co_await std::move(opening);
        if (!outcome_)
            outcome_ = std::move(failure);
        if (outcome_->code)
            close();
        opened_.set();
    } else if (!outcome_) {
        auto waiting = opened_.async_wait(coro::detail::with_code);
        co_await std::move(waiting);
    }
    co_return outcome_ ? *outcome_ : lost_connection();
}

void node_connection::add_channel(const std::string& channel, shared_wire& wire) {
    channels_[channel] = &wire;
    if (left_channels_ > left_channels_max)
        end({errc::store_unavailable, "the connection has too many old subscriptions"});
}

void node_connection::note_call() noexcept {
    if (waiting_++ == 0)
        waiting_since_ = clock::now();
}

void node_connection::note_answer() noexcept {
    --waiting_;
    last_answer_ = clock::now();
}

clock::time_point node_connection::last_sign() const noexcept {
    return waiting_ == 0 ? last_answer_ : std::max(waiting_since_, last_answer_);
}

asio::awaitable<result<std::vector<redis_value>>> node_connection::write_and_wait(
    redis_command write,
    unsigned replicas,
    std::chrono::milliseconds limit,
    asio::cancellation_slot stop
) {
    const auto kept = shared_from_this();
    const auto mine = waits_.join();
    writes& all = mine->work;
    const std::size_t place = all.commands.size();
    all.commands.push_back(std::move(write));
    all.replicas = std::max(all.replicas, replicas);
    all.limit = std::max(all.limit, limit);
    auto waiting = waits_.wait(kept, mine, stop);
    co_await std::move(waiting);
    if (!mine->outcome)
        co_return mine->outcome.error();
    std::vector<redis_value> both;
    both.push_back(mine->outcome->at(place));
    both.push_back(mine->outcome->back());
    co_return both;
}

// WAIT counts the last write of the connection, and so all of them.
asio::awaitable<node_connection::replies> node_connection::carry_out(const writes& all) {
    auto commands = all.commands;
    commands.push_back(wait_for_replicas(all.replicas, all.limit));
    note_call();
    auto asking = wire_->pipeline(std::move(commands));
    auto answers = co_await std::move(asking);
    note_answer();
    co_return answers;
}

void node_connection::close() noexcept {
    const auto kept = shared_from_this();
    if (const auto list = list_.lock())
        list->forget(*this);
    if (!outcome_)
        outcome_ = lost_connection();
    wire_->close();
}

void node_connection::end(const redis_failure& why) noexcept {
    const auto kept = shared_from_this();
    std::vector<std::shared_ptr<shared_wire>> users;
    for (auto* const each : wires_)
        users.push_back(each->weak_from_this().lock());
    outcome_ = why;
    close();
    for (const auto& each : users) {
        if (each)
            each->ended(why);
    }
}

shared_wire* node_connection::reader_of(const redis_value& push) const {
    const auto found = channels_.find(push.items[1].text);
    return found == channels_.end() ? nullptr : found->second;
}

void node_connection::on_push(redis_value push) noexcept {
    const auto kept = shared_from_this();
    if (push.items.size() < 2)
        return;
    const std::string_view kind = push.items[0].text;
    if (kind.ends_with("message")) {
        if (auto* const reader = reader_of(push))
            reader->take(std::move(push));
    } else if (kind == "sunsubscribe") {
        if (auto* const reader = reader_of(push))  // Its slot has gone to another node.
            reader->ended({errc::store_unavailable, "the slot has moved"});
    } else if (kind == "invalidate") {
        std::vector<std::shared_ptr<shared_wire>> users;
        for (auto* const each : wires_) {
            if (each->follows(push.items[1]))
                users.push_back(each->weak_from_this().lock());
        }
        for (const auto& each : users) {
            if (each)
                each->take(push);
        }
    }
}

}  // namespace mortise::store_detail
