// SPDX-License-Identifier: BSL-1.0
#include "store/redis/redis_calls.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <utility>

namespace mortise::store_detail {
namespace {

using std::chrono::milliseconds;

// A connection without an answer for this long is asked whether it lives: heartbeats of a long TTL
// are rare, and nobody tells of a push that is lost.
constexpr milliseconds quiet_max(2'000);

}  // namespace

void answer_watch::attach(
    asio::any_io_executor strand,
    std::shared_ptr<coro::time_source> time,
    std::weak_ptr<void> owner,
    std::function<void()> silent,
    std::function<void()> quiet
) {
    strand_ = std::move(strand);
    time_ = std::move(time);
    owner_ = std::move(owner);
    silent_ = std::move(silent);
    quiet_ = std::move(quiet);
}

clock::duration answer_watch::patience() const noexcept {
    return std::clamp<clock::duration>(ttl_ / 3, milliseconds(100), milliseconds(2'000));
}

void answer_watch::sent() {
    under_way_.push_back(now());
    watch_answers();
}

void answer_watch::answered() {
    if (under_way_.empty())
        return;
    under_way_.pop_front();
    answered_ = now();
}

void answer_watch::clear() noexcept {
    under_way_.clear();
    answers_alarm_.cancel();
    quiet_alarm_.cancel();
}

// The time since which the server is silent. Many commands at once may take longer than one: while
// answers come, the server is busy, not silent.
clock::time_point answer_watch::silent_since() const {
    return std::max(under_way_.front(), answered_);
}

// Sets one timer, for the oldest command without an answer.
void answer_watch::watch_answers() {
    if (answers_alarm_.is_set() || under_way_.empty())
        return;
    const auto due = silent_since() + patience();
    answers_alarm_.set(*time_, strand_, due, [this, owner = owner_, due] {
        if (const auto kept = owner.lock())
            judge(due);
    });
}

void answer_watch::judge(clock::time_point due) {
    if (under_way_.empty())
        return;
    const auto limit = patience();
    if (now() - due > limit / 2) {
        // This process was not running: it must first read what has come meanwhile.
        under_way_.front() = now() - limit / 2;
    } else if (silent_since() + limit <= now()) {
        silent_();
        return;
    }
    watch_answers();
}

void answer_watch::watch_quiet() {
    if (ttl_ / 3 <= quiet_max)
        return;  // Heartbeats come often enough.
    quiet_alarm_.set(*time_, strand_, now() + quiet_max, [this, owner = owner_] {
        const auto kept = owner.lock();
        if (!kept)
            return;
        if (under_way_.empty() && now() - answered_ >= quiet_max)
            quiet_();
        watch_quiet();
    });
}

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
        [this] { asio::co_spawn(strand_, ping(owner_.lock()), asio::detached); }
    );
}

void redis_calls::close_if_late(alarm& by, const wire_ptr& wire, clock::duration limit) {
    const auto due = coro::saturating_add(time_->now(), limit);
    by.set(*time_, strand_, due, [wire = std::weak_ptr(wire)] {
        if (const auto late = wire.lock())
            late->close();
    });
}

redis_calls::wire_ptr redis_calls::drop() noexcept {
    answers_.clear();
    known_.forget();
    if (lane_)
        lane_->clear();
    return std::exchange(wire_, nullptr);
}

asio::awaitable<result<redis_value>>
redis_calls::evaluate(wire_ptr wire, redis_script script, std::vector<std::string> arguments) {
    if (wire != wire_) {
        auto evaluating = evaluate_once(std::move(wire), script, std::move(arguments));
        co_return co_await std::move(evaluating);
    }
    if (!wire)
        co_return error_code(errc::store_unavailable);
    const auto urgency = script == redis_script::beat ? command_lane::priority::urgent
                                                      : command_lane::priority::normal;
    if (!lane_->enter_now(urgency)) {
        auto entering = lane_->enter(urgency);
        if (!co_await std::move(entering))
            co_return error_code(errc::store_unavailable);
    }
    for (;;) {
        auto asking = call(wire, known_.call(script, arguments));
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

asio::awaitable<result<redis_value>>
redis_calls::evaluate_once(wire_ptr wire, redis_script script, std::vector<std::string> arguments) {
    known_scripts known(scripts_);
    known.loaded(script);
    auto asking = call(wire, known.call(script, arguments));
    auto reply = co_await std::move(asking);
    if (reply && is_unknown_script(*reply)) {
        known.forget();
        auto asking_again = call(wire, known.call(script, arguments));
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
