// SPDX-License-Identifier: BSL-1.0
#include "store/redis/single_key_listener.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <chrono>
#include <utility>

namespace mortise::store_detail {
namespace {

// How often the connection is asked whether it lives, and how long it may take to answer.
constexpr std::chrono::milliseconds ask_every(2'000);
constexpr std::chrono::milliseconds answer_max(2'000);

}  // namespace

single_key_listener::single_key_listener(
    asio::any_io_executor strand,
    std::shared_ptr<coro::time_source> time,
    redis_wire_factory wires,
    heard_function heard,
    failed_function failed
)
    : strand_(std::move(strand)),
      time_(std::move(time)),
      wires_(std::move(wires)),
      tell_(std::move(heard)),
      failed_(std::move(failed)) {}

void single_key_listener::want(const std::string& channel) {
    if (!wanted_.insert(channel).second)
        return;
    changes_.push_back(channel);
    work();
}

void single_key_listener::forget(const std::string& channel) {
    if (wanted_.erase(channel) == 0 || !wire_)
        return;
    changes_.push_back(channel);
    work();
}

void single_key_listener::go() {
    changes_.assign(wanted_.begin(), wanted_.end());
    work();
}

void single_key_listener::close() noexcept {
    heard_.clear();
    changes_.clear();
    silence_alarm_.cancel();
    if (const auto wire = std::exchange(wire_, nullptr))
        wire->close();
}

void single_key_listener::work() {
    if (working_ || changes_.empty())
        return;
    working_ = true;
    asio::co_spawn(strand_, run(shared_from_this()), asio::detached);
}

asio::awaitable<void>
single_key_listener::run([[maybe_unused]] std::shared_ptr<single_key_listener> self) {
    while (!changes_.empty()) {
        const std::string channel = std::move(changes_.front());
        changes_.pop_front();
        auto changing = change(channel);
        const auto failure = co_await std::move(changing);
        if (failure.code)
            fail(failure);
    }
    working_ = false;
}

// Subscribes to `channel` or unsubscribes, whichever `wanted_` asks for.
// @return what is wrong with the present connection; no code if it was closed meanwhile.
asio::awaitable<redis_failure> single_key_listener::change(const std::string& channel) {
    const bool wanted = wanted_.contains(channel);
    if (wanted == heard_.contains(channel)) {
        if (wanted)
            tell_(channel);
        co_return redis_failure();
    }
    if (!wire_) {
        const auto opened = wire_ = wires_(strand_);
        auto opening = opened->open(*this);
        auto failure = co_await std::move(opening);
        if (wire_ != opened)
            co_return redis_failure();
        if (failure.code)
            co_return failure;
        watch_silence();
    }
    const auto wire = wire_;
    redis_failure failure;
    if (wanted) {
        auto subscribing = wire->subscribe(channel);
        failure = co_await std::move(subscribing);
    } else {
        auto leaving = wire->call({"UNSUBSCRIBE", channel});
        const auto left = co_await std::move(leaving);
        if (!left)
            failure = {errc::store_unavailable, "the connection was closed"};
    }
    if (wire_ != wire || failure.code)
        co_return wire_ == wire ? failure : redis_failure();
    if (!wanted) {
        heard_.erase(channel);
    } else {
        heard_.insert(channel);
        tell_(channel);
    }
    if (wanted != wanted_.contains(channel))
        changes_.push_back(channel);
    co_return redis_failure();
}

void single_key_listener::fail(redis_failure why) {
    close();
    failed_(std::move(why));
}

// Asks whether the connection lives. If it is dead, nobody says so, no release is heard, and a key
// with a long TTL expires late.
void single_key_listener::watch_silence() {
    silence_alarm_.set(*time_, strand_, time_->now() + ask_every, [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self || !self->wire_)
            return;
        if (self->wanted_.empty())
            self->watch_silence();
        else
            asio::co_spawn(self->strand_, self->ping(self, self->wire_), asio::detached);
    });
}

asio::awaitable<void> single_key_listener::ping(
    [[maybe_unused]] std::shared_ptr<single_key_listener> self, std::shared_ptr<redis_wire> wire
) {
    if (wire_ != wire)
        co_return;
    silence_alarm_.set(*time_, strand_, time_->now() + answer_max, [weak = weak_from_this()] {
        if (const auto listener = weak.lock())
            listener->fail({errc::store_unavailable, "nothing is heard of the subscriptions"});
    });
    auto asking = wire->call({"PING"});
    const auto reply = co_await std::move(asking);
    if (reply && wire_ == wire)
        watch_silence();
}

void single_key_listener::on_push(redis_value push) noexcept {
    if (push.items.size() == 3 && push.items[0].text == "message" &&
        wanted_.contains(push.items[1].text))
        tell_(push.items[1].text);
}

void single_key_listener::on_closed(redis_failure why) noexcept {
    fail(std::move(why));
}

}  // namespace mortise::store_detail
