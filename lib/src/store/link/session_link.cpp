// SPDX-License-Identifier: BSL-1.0
#include "store/link/session_link.hpp"

#include "mortise/coro/detail/with_code.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

#include <utility>

namespace mortise::store_detail {

reconnect_pauses drawn_pauses(coro::backoff_options limits, std::uint64_t seed) {
    return [pauses = coro::backoff(limits, seed)](std::uint32_t attempt) mutable {
        if (attempt == 0)
            pauses.reset();
        return pauses.next();
    };
}

session_link::session_link(reconnect_pauses pauses) : pauses_(std::move(pauses)) {}

void session_link::attach(
    asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
) {
    strand_ = std::move(strand);
    settled_.emplace(strand_);
    settled_->set();
    events_ = &events;
    time_ = std::move(time);
}

void session_link::detach() noexcept {
    events_ = nullptr;
    if (process_.forked())
        return;
    reconnect_alarm_.cancel();
    drop();
}

// An opening under way finds that its connection is gone, and fails.
void session_link::drop() noexcept {
    connection_ = 0;
    if (phase_ == phase::connected)
        phase_ = phase::idle;
    close_connection();
}

asio::awaitable<result<resumed>> session_link::open(session_start start) {
    const auto kept = shared_from_this();
    const bool another = !has_session_ || session_.id != start.id;
    const auto number = begin_opening();
    session_ = std::move(start);
    has_session_ = true;
    if (another) {
        watching_ = false;
        begin_session();
    }
    auto opening = run_opening(number);
    auto reply = co_await std::move(opening);
    if (!reply && reply.error() == errc::session_lost)
        has_session_ = false;
    co_return reply;
}

std::uint64_t session_link::begin_opening() noexcept {
    drop();
    phase_ = phase::opening;
    settled_->reset();
    return connection_ = ++openings_;
}

asio::awaitable<result<resumed>> session_link::run_opening(std::uint64_t number) {
    auto trying = open_and_prove(number);
    auto reply = co_await std::move(trying);
    if (number != openings_)
        co_return error_code(errc::outcome_unknown);
    const bool closed = connection_ != number;
    const bool in_use = reply && !closed;
    phase_ = in_use ? phase::connected : phase::idle;
    opening_ended(in_use);
    if (in_use) {
        incarnation_ = reply->incarnation;
        attempts_ = 0;
    } else {
        drop();
    }
    settled_->set();
    if (reply && closed)
        co_return error_code(errc::outcome_unknown);
    co_return reply;
}

asio::awaitable<result<resumed>> session_link::open_and_prove(std::uint64_t number) {
    auto opening = open_connection();
    const error_code failed = co_await std::move(opening);
    if (failed)
        co_return failed;
    if (connection_ != number)
        co_return error_code(errc::store_unavailable);
    auto proving = prove();
    co_return co_await std::move(proving);
}

// A connection that was not in use needs no other one: its opening fails, or has failed, or the
// next one is planned already.
void session_link::connection_closed() noexcept {
    const bool in_use = connected();
    drop();
    if (in_use)
        reconnect_later();
}

void session_link::replace_connection() {
    if (!connected())
        return;
    drop();
    reconnect_later();
}

void session_link::reconnect_later() {
    if (!events_ || !has_session_)
        return;
    const auto when = coro::saturating_add(now(), pauses_(attempts_++));
    reconnect_alarm_.set(*time_, strand_, when, [weak = weak_from_this(), id = session_.id] {
        const auto self = weak.lock();
        if (self && self->may_reconnect(id))
            asio::co_spawn(self->strand_, self->reconnect(self, id), asio::detached);
    });
}

// An opening by the owner may have begun since the alarm was set; it needs no help.
bool session_link::may_reconnect(const session_id& meant) const noexcept {
    return events_ && has_session_ && phase_ == phase::idle && session_.id == meant;
}

asio::awaitable<void>
session_link::reconnect([[maybe_unused]] std::shared_ptr<session_link> self, session_id meant) {
    if (!may_reconnect(meant))
        co_return;
    ++session_.generation;
    const auto before = incarnation_;
    const auto number = begin_opening();
    auto opening = run_opening(number);
    const auto reply = co_await std::move(opening);
    if (!has_session_ || number != openings_)
        co_return;
    if (reply) {
        came_back(before);
    } else if (reply.error() == errc::session_lost || reply.error() == errc::newer_format) {
        has_session_ = false;
        tell(store_event::kind::session_lost);
    } else {
        reconnect_later();
    }
}

void session_link::opening_ended(bool) {}

void session_link::came_back(const random_id& before) {
    tell(incarnation_ == before ? store_event::kind::look_again : store_event::kind::unsure);
    if (watching_)
        tell(store_event::kind::changed);
}

asio::awaitable<bool> session_link::settle() {
    const auto kept = shared_from_this();
    while (phase_ == phase::opening) {
        auto waiting = settled_->async_wait(coro::detail::with_code);
        const auto [stopped] = co_await std::move(waiting);
        if (stopped)
            co_return false;
    }
    co_return connected();
}

void session_link::end_session() noexcept {
    has_session_ = false;
    reconnect_alarm_.cancel();
    drop();  // Otherwise the connection would keep the context at work.
}

void session_link::compare_watching(bool at_server) {
    if (watching_ && !at_server)
        tell(store_event::kind::changed);
}

void session_link::tell(store_event::kind kind) {
    store_event event;
    event.type = kind;
    event.number = session_.number;
    if (kind == store_event::kind::session_lost)
        event.why = errc::session_lost;
    tell(event);
}

// An event of an earlier session says nothing of the present one, and must not end it.
void session_link::tell(const store_event& event) {
    asio::post(strand_, [weak = weak_from_this(), id = session_.id, event] {
        if (const auto self = weak.lock(); self && self->session_.id == id)
            self->tell_now(event);
    });
}

void session_link::tell_now(const store_event& event) {
    if (event.type == store_event::kind::changed && !std::exchange(watching_, false))
        return;
    if (events_)
        events_->on_store_event(event);
}

error_code session_link::remember(const error_code& why, std::string text) {
    const std::lock_guard guard(failure_mutex_);
    failure_ = std::move(text);
    return why;
}

std::string session_link::explain() const {
    const std::lock_guard guard(failure_mutex_);
    return failure_;
}

}  // namespace mortise::store_detail
