// SPDX-License-Identifier: BSL-1.0
#include "store/redis/redis_calls.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <utility>

namespace mortise::store_detail {
namespace {

// What a heartbeat consists of must not queue behind tens of thousands of commands.
bool is_urgent(redis_script script) noexcept {
    switch (script) {
    case redis_script::beat:
    case redis_script::survey:
    case redis_script::state:
    case redis_script::expel:
    case redis_script::expire:
    case redis_script::advance:
    case redis_script::forget:
    case redis_script::redlock_beat:
        return true;
    default:
        return false;
    }
}

}  // namespace

void redis_calls::attach(
    asio::any_io_executor strand,
    std::shared_ptr<coro::time_source> time,
    std::weak_ptr<void> owner,
    std::function<void(redis_failure)> failed
) {
    strand_ = std::move(strand);
    time_ = std::move(time);
    owner_ = std::move(owner);
    failed_ = std::move(failed);
    lane_.emplace(strand_);
    answers_.attach(
        strand_,
        time_,
        owner_,
        [this] {
            failed_({errc::store_unavailable, "a command was not answered in time"});
        },
        [this] {
            if (!is_watched_by_others())
                asio::co_spawn(strand_, ping(owner_.lock()), asio::detached);
        }
    );
}

void redis_calls::close_if_late(alarm& by, const wire_ptr& wire, clock::duration limit) {
    const auto due = coro::saturating_add(time_->now(), limit);
    by.set(*time_, strand_, due, [limit, wire = std::weak_ptr(wire)] {
        if (const auto late = wire.lock())
            late->abandon(limit);
    });
}

redis_calls::wire_ptr redis_calls::drop() noexcept {
    answers_.clear();
    known_.forget();
    if (lane_)
        lane_->clear();
    return std::exchange(wire_, nullptr);
}

asio::awaitable<result<redis_value>> redis_calls::evaluate(wire_ptr wire, script_call wanted) {
    if (wire != wire_) {
        auto evaluating = evaluate_once(std::move(wire), std::move(wanted));
        co_return co_await std::move(evaluating);
    }
    if (!wire)
        co_return error_code(errc::store_unavailable);
    const auto urgency =
        is_urgent(wanted.script) ? command_lane::priority::urgent : command_lane::priority::normal;
    if (!lane_->enter_now(urgency)) {
        auto entering = lane_->enter(urgency);
        if (!co_await std::move(entering))
            co_return error_code(errc::store_unavailable);
    }
    for (;;) {
        auto asking = call(wire, known_.call(wanted));
        auto reply = co_await std::move(asking);
        if (!reply || !is_unknown_script(*reply)) {
            if (wire == wire_)
                leave_lane();
            co_return reply;
        }
        if (wire != wire_)
            co_return error_code(errc::store_unavailable);
        known_.forget();
        auto entering = lane_->enter_again();
        if (!co_await std::move(entering))
            co_return error_code(errc::store_unavailable);
    }
}

asio::awaitable<result<redis_value>> redis_calls::evaluate_once(wire_ptr wire, script_call wanted) {
    known_scripts known(scripts_);
    known.loaded(wanted.script);
    auto asking = call(wire, known.call(wanted));
    auto reply = co_await std::move(asking);
    if (reply && is_unknown_script(*reply)) {
        known.forget();
        auto asking_again = call(wire, known.call(wanted));
        reply = co_await std::move(asking_again);
    }
    co_return reply;
}

asio::awaitable<result<redis_value>> redis_calls::command(wire_ptr wire, redis_command command) {
    const bool passing = wire != wire_;
    if (!passing && wire && !lane_->enter_now(command_lane::priority::normal)) {
        auto entering = lane_->enter(command_lane::priority::normal);
        if (!co_await std::move(entering))
            co_return error_code(errc::store_unavailable);
    }
    auto calling = call(wire, std::move(command));
    auto reply = co_await std::move(calling);
    if (!passing && wire && wire == wire_)
        leave_lane();
    co_return reply;
}

void redis_calls::leave_lane() {
    lane_->leave();
    if (lane_->out_of_order())
        failed_({errc::store_unavailable, "the server forgot its scripts between two commands"});
}

asio::awaitable<result<redis_value>> redis_calls::call(wire_ptr wire, redis_command command) {
    if (!wire)
        co_return error_code(errc::store_unavailable);
    if (wire == wire_)
        answers_.sent();
    auto calling = wire->call(std::move(command));
    auto reply = co_await std::move(calling);
    if (wire == wire_)
        answers_.answered();
    co_return reply;
}

// Whether others who use the connection would notice that it is dead, or know that it is not.
bool redis_calls::is_watched_by_others() const {
    const auto sign = wire_ ? wire_->last_sign() : std::nullopt;
    return sign && time_->now() - *sign < answer_watch::quiet_max;
}

// Asks for any answer. The watch notices if there is none, as for every command.
asio::awaitable<void> redis_calls::ping([[maybe_unused]] std::shared_ptr<void> owner) {
    auto asking = call(wire_, {"PING"});
    co_await std::move(asking);
}

asio::awaitable<void> redis_calls::load(std::vector<redis_script> wanted) {
    const auto wire = wire_;
    auto asking = command(wire, known_.question(wanted));
    const auto answer = co_await std::move(asking);
    if (!answer || wire_ != wire)
        co_return;
    for (const auto script : known_.note(wanted, *answer)) {
        auto loading = command(wire, known_.loading(script));
        const auto reply = co_await std::move(loading);
        if (!reply || reply->type == redis_value::kind::error || wire_ != wire)
            co_return;
        known_.loaded(script);
    }
}

}  // namespace mortise::store_detail
