// SPDX-License-Identifier: BSL-1.0
#include "store/redis/change_watch.hpp"

#include "mortise/store_types.hpp"
#include "store/hex_id.hpp"
#include "store/redis/call_round.hpp"
#include "store/redis/known_scripts.hpp"
#include "store/redis/redis_scripts.hpp"

#include <boost/asio/post.hpp>

#include <utility>

namespace mortise::store_detail {

/// The way to one bucket.
class change_watch::visitor final : public redis_wire_events {
public:
    visitor(change_watch& of, place at) : keys(std::move(at.keys)), wires(at.wires), watch_(of) {}

    const store_keys keys;
    const redis_wire_factory wires;
    std::shared_ptr<redis_wire> wire;  ///< Null: none was opened yet, or it has ended.

    /// Closes a wire of it; another one is opened when it is needed.
    void leave(const std::shared_ptr<redis_wire>& of_it) noexcept {
        if (of_it)
            of_it->close();
        if (wire == of_it)
            wire = nullptr;
    }

private:
    void on_push(redis_value push) noexcept override {
        if (push.items.size() == 3 && push.items[2].text == "c")
            watch_.hear();
    }
    // What has changed since is not known.
    void on_closed(redis_failure) noexcept override {
        wire = nullptr;
        watch_.hear();
    }

    change_watch& watch_;
};

change_watch::change_watch(
    asio::any_io_executor strand,
    std::shared_ptr<coro::time_source> time,
    std::chrono::milliseconds limit,
    std::vector<place> places,
    std::function<void()> changed
)
    : strand_(std::move(strand)),
      time_(std::move(time)),
      limit_(limit),
      changed_(std::move(changed)),
      name_(short_name(random_id::draw())) {
    for (auto& each : places)
        visitors_.push_back(std::make_unique<visitor>(*this, std::move(each)));
}

change_watch::~change_watch() = default;

// One at a time: another one would find connections that are not open yet.
asio::awaitable<error_code> change_watch::begin() {
    const auto kept = shared_from_this();
    while (const auto other = beginning_) {
        auto waiting = other->async_wait(coro::detail::with_code);
        co_await std::move(waiting);
    }
    beginning_ = std::make_shared<coro::event>(strand_);
    auto arming = arm_all();
    const auto failed = co_await std::move(arming);
    std::exchange(beginning_, nullptr)->set();
    co_return failed;
}

asio::awaitable<error_code> change_watch::arm_all() {
    const auto kept = shared_from_this();
    const bool was_armed = std::exchange(armed_, true);
    std::vector<asio::awaitable<result<bool>>> calls;
    for (std::size_t at = 0; at < visitors_.size(); ++at)
        calls.push_back(arm(kept, at));
    auto arming = call_round<bool>::run(strand_, std::move(calls));
    const auto answers = co_await std::move(arming);
    for (const auto& each : answers) {
        if (each)
            continue;
        if (was_armed)
            hear();  // Whoever watches already must not sleep on: it looks, and begins again.
        else
            armed_ = false;
        co_return each.error();
    }
    co_return error_code();
}

asio::awaitable<result<bool>>
change_watch::arm([[maybe_unused]] std::shared_ptr<change_watch> self, std::size_t at) {
    visitor& here = *visitors_[at];
    if (!here.wire) {
        auto reaching = reach(here);
        const auto failed = co_await std::move(reaching);
        if (failed)
            co_return failed;
    }
    const auto wire = here.wire;
    coro::detail::alarm late;
    if (wire)
        limit(late, wire);
    auto watching = watch_at(here);
    const auto reply = co_await std::move(watching);
    if (reply && reply->type != redis_value::kind::error)
        co_return true;
    here.leave(wire);  // The slot may have moved: the next call looks for it.
    co_return reply ? error_code(meaning_of_refusal(reply->text)) : reply.error();
}

// Nobody else may notice that a server says nothing.
void change_watch::limit(coro::detail::alarm& by, const std::shared_ptr<redis_wire>& wire) {
    const auto due = coro::saturating_add(time_->now(), limit_);
    by.set(*time_, strand_, due, [limit = limit_, weak = std::weak_ptr(wire)] {
        if (const auto silent = weak.lock())
            silent->abandon(limit);
    });
}

asio::awaitable<error_code> change_watch::reach(visitor& at) {
    if (closed_)
        co_return error_code(errc::store_unavailable);
    const auto wire = at.wires(strand_);
    at.wire = wire;
    coro::detail::alarm late;
    limit(late, wire);
    auto opening = wire->open(at);
    auto failure = co_await std::move(opening);
    if (!failure.code) {
        auto subscribing = wire->subscribe(at.keys.inbox(name_));
        failure = co_await std::move(subscribing);
    }
    if (!failure.code)
        co_return error_code();
    at.leave(wire);
    co_return failure.code;
}

change_watch::reply_of change_watch::watch_at(visitor& at) {
    const auto wire = at.wire;
    if (!wire || closed_)  // The end leaves no trace: nothing is asked behind it.
        co_return error_code(errc::store_unavailable);
    known_scripts known(redis_scripts::shared());
    known.loaded(redis_script::watch);
    auto keys = at.keys.own(name_);
    keys.push_back(at.keys.of("w"));
    const script_call wanted(redis_script::watch, std::move(keys), std::vector<std::string>(1));
    auto asking = wire->call(known.call(wanted));
    auto reply = co_await std::move(asking);
    if (reply && is_unknown_script(*reply) && !closed_) {
        known.forget();
        auto asking_again = wire->call(known.call(wanted));
        reply = co_await std::move(asking_again);
    }
    co_return reply;
}

void change_watch::hear() {
    if (!std::exchange(armed_, false))
        return;
    asio::post(strand_, [weak = weak_from_this()] {
        if (const auto self = weak.lock(); self && !self->closed_)
            self->changed_();
    });
}

void change_watch::compare() {
    if (!armed_ || beginning_)
        return;
    for (std::size_t at = 0; at < visitors_.size(); ++at) {
        if (visitors_[at]->wire)
            asio::co_spawn(strand_, ask(shared_from_this(), at), asio::detached);
    }
}

asio::awaitable<void>
change_watch::ask([[maybe_unused]] std::shared_ptr<change_watch> self, std::size_t at) {
    const auto wire = visitors_[at]->wire;
    if (!wire)
        co_return;
    coro::detail::alarm late;
    limit(late, wire);
    auto asking = wire->call({"SISMEMBER", visitors_[at]->keys.of("w"), name_});
    const auto reply = co_await std::move(asking);
    if (!reply)
        visitors_[at]->leave(wire);
    if (!reply || reply->number != 1)
        hear();
}

asio::awaitable<void> change_watch::end() {
    const auto kept = shared_from_this();
    armed_ = false;
    closed_ = true;
    std::vector<asio::awaitable<result<bool>>> calls;
    for (std::size_t at = 0; at < visitors_.size(); ++at) {
        if (visitors_[at]->wire)
            calls.push_back(forget(kept, at));
    }
    auto forgetting = call_round<bool>::run(strand_, std::move(calls));
    co_await std::move(forgetting);
    close();
}

asio::awaitable<result<bool>>
change_watch::forget([[maybe_unused]] std::shared_ptr<change_watch> self, std::size_t at) {
    const auto wire = visitors_[at]->wire;
    if (!wire)
        co_return false;
    coro::detail::alarm late;
    limit(late, wire);
    auto asking = wire->call({"SREM", visitors_[at]->keys.of("w"), name_});
    const auto reply = co_await std::move(asking);
    co_return reply.has_value();
}

void change_watch::close() noexcept {
    closed_ = true;
    armed_ = false;
    for (const auto& each : visitors_) {
        if (const auto wire = std::exchange(each->wire, nullptr))
            wire->close();
    }
}

}  // namespace mortise::store_detail
