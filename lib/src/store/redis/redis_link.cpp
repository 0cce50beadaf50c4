// SPDX-License-Identifier: BSL-1.0
#include "store/redis/redis_link.hpp"

#include "mortise/coro/detail/with_code.hpp"
#include "store/redis/hex_id.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

#include <utility>

namespace mortise::store_detail {
namespace {

using std::chrono::milliseconds;

constexpr coro::backoff_options reconnecting{milliseconds(10), milliseconds(1'000), 2};

}  // namespace

redis_link::redis_link(link_settings settings, redis_wire_factory wires)
    : settings_(std::move(settings)),
      scripts_(settings_.prefix),
      wires_(std::move(wires)),
      backoff_(reconnecting, random_id::draw().low) {}

void redis_link::attach(
    asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
) {
    strand_ = std::move(strand);
    settled_.emplace(strand_);
    events_ = &events;
    time_ = std::move(time);
    calls_.attach(strand_, time_, weak_from_this(), [this](redis_failure why) {
        on_closed(std::move(why));
    });
}

void redis_link::detach() noexcept {
    events_ = nullptr;
    has_session_ = false;
    if (process_.forked())
        return;  // The connection is the parent's.
    reconnect_alarm_.cancel();
    opening_alarm_.cancel();
    drop_wire();
}

void redis_link::drop_wire() noexcept {
    connected_ = false;
    const auto wire = calls_.drop();
    dropped();
    if (wire)
        wire->close();
}

error_code redis_link::remember(redis_failure why) {
    auto text = settings_.name + ": " + why.text + "; " + std::string(redis_remedy(why));
    const std::lock_guard guard(failure_mutex_);
    failure_ = std::move(text);
    return why.code;
}

std::string redis_link::explain() const {
    const std::lock_guard guard(failure_mutex_);
    return failure_;
}

asio::awaitable<result<resumed>> redis_link::open(session_start start) {
    const auto kept = shared_from_this();
    drop_wire();
    if (!has_session_ || session_.id != start.id) {
        watching_ = false;
        name_ = short_name(start.id);
        begin_session();
    }
    session_ = std::move(start);
    calls_.answers().set_ttl(session_.ttl);
    has_session_ = true;
    auto opening = resume_session();
    auto reply = co_await std::move(opening);
    if (!reply && reply.error() == errc::session_lost)
        has_session_ = false;
    co_return reply;
}

// Opens a new connection for each try, so that nothing of an earlier one is left in it.
asio::awaitable<redis_failure> redis_link::connect() {
    const auto id = session_.id;
    drop_wire();
    const wire_ptr wire = wires_(strand_);
    calls_.use(wire);
    calls_.close_if_late(opening_alarm_, wire, settings_.connect_max);
    auto opening = wire->open(*this);
    auto failure = co_await std::move(opening);
    if (!failure.code && newest_wire() == wire) {
        auto preparing = prepare(wire);
        failure = co_await std::move(preparing);
    }
    if (newest_wire() != wire || session_.id != id)
        co_return redis_failure(errc::store_unavailable, "given up");
    if (!failure.code) {
        auto learning = learn_facts();
        failure = co_await std::move(learning);
    }
    if (!failure.code) {
        auto loading = calls_.load(used_scripts());
        co_await std::move(loading);
    }
    if (!failure.code && newest_wire() != wire)
        failure = {errc::store_unavailable, "the connection was closed"};
    co_return failure;
}

asio::awaitable<redis_failure> redis_link::prepare(wire_ptr) {
    co_return redis_failure();
}

void redis_link::know(const random_id& incarnation, const token_domain& domain) {
    incarnation_ = incarnation;
    domain_ = domain;
}

// Asks what the server is. What this user may not ask stays unknown; `judge` says whether that
// matters.
asio::awaitable<redis_failure> redis_link::learn_facts() {
    const auto wire = newest_wire();
    server_facts facts;
    auto tracking =
        calls_.command(wire, {"CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", tracked(), "NOLOOP"});
    const auto heard = co_await std::move(tracking);
    facts.flush_is_heard = heard && heard->type != redis_value::kind::error;
    auto asking = calls_.command(wire, {"INFO"});
    const auto report = co_await std::move(asking);
    if (auto failure = facts.read_answer(report); failure.code)
        co_return failure;
    auto reading = calls_.command(wire, {"CONFIG", "GET", "*appendfsync*"});
    const auto reply = co_await std::move(reading);
    if (reply)
        facts.read_config(*reply);
    if (newest_wire() != wire)
        co_return redis_failure(errc::store_unavailable, "the connection was closed");
    facts_ = facts;
    strength_ = facts.strength();
    co_return facts_.judge(settings_.accepted, keys_expire());
}

asio::awaitable<result<resumed>> redis_link::resume_session() {
    const auto id = session_.id;
    const auto generation = session_.generation;
    opening_ = true;
    settled_->reset();
    auto trying = try_to_resume();
    auto reply = co_await std::move(trying);
    if (session_.id != id || session_.generation != generation)
        co_return error_code(errc::outcome_unknown);  // Another opening has begun.
    opening_ = false;
    opening_alarm_.cancel();
    connected_ = reply && newest_wire();
    if (connected_) {
        backoff_.reset();
        calls_.answers().watch_quiet();
    } else {
        drop_wire();
    }
    settled_->set();
    if (reply && !connected_)
        co_return error_code(errc::outcome_unknown);
    co_return reply;
}

asio::awaitable<result<resumed>> redis_link::try_to_resume() {
    auto connecting = connect();
    const auto failure = co_await std::move(connecting);
    if (failure.code)
        co_return remember(failure);
    auto proving = prove();
    co_return co_await std::move(proving);
}

// The one argument of a script that acts for the session.
std::string redis_link::argument(const std::string& more) const {
    std::string all;
    all.reserve(name_.size() + more.size() + 24);
    all += name_;
    all += ' ';
    all += std::to_string(session_.generation);
    if (!more.empty()) {
        all += ' ';
        all += more;
    }
    return all;
}

asio::awaitable<result<redis_value>> redis_link::act(redis_script script, std::string more) {
    std::vector<std::string> arguments;
    arguments.push_back(argument(more));
    return evaluate(wire(), script, std::move(arguments));
}

error_code redis_link::refused(const wire_ptr& wire, const redis_value& reply) {
    redis_failure failure{meaning_of_refusal(reply.text), reply.text};
    const auto why = failure.code;
    if (why == errc::read_only_server && wire == newest_wire())
        leave_server(std::move(failure));  // No longer the primary: another server may be.
    else if (why == errc::not_enough_replicas && wire == newest_wire())
        lacks_replicas(std::move(failure));
    else
        remember(std::move(failure));
    return why;
}

// Leaves the server after a TTL: if it was cut off, its address may lead to another one by now.
void redis_link::lacks_replicas(redis_failure why) {
    const auto since = refusing_since_.value_or(now());
    if (now() - since >= session_.ttl)
        leave_server(std::move(why));
    else
        remember(std::move(why));
    refusing_since_ = since;
}

// Does nothing to a connection that is being opened: its opening fails by itself.
void redis_link::leave_server(redis_failure why) {
    remember(std::move(why));
    if (!connected_)
        return;
    drop_wire();
    reconnect_later();
}

asio::awaitable<result<redis_value>>
redis_link::ask(redis_script script, std::vector<std::string> arguments) {
    const auto kept = shared_from_this();
    alarm late;
    auto reaching = reach(late);
    const auto wire = co_await std::move(reaching);
    if (!wire)
        co_return wire.error();
    auto evaluating = evaluate(*wire, script, std::move(arguments));
    auto reply = co_await std::move(evaluating);
    leave(*wire);
    co_return reply;
}

asio::awaitable<result<redis_value>> redis_link::send(redis_command request) {
    const auto kept = shared_from_this();
    alarm late;
    auto reaching = reach(late);
    const auto wire = co_await std::move(reaching);
    if (!wire)
        co_return wire.error();
    auto running = calls_.command(*wire, std::move(request));
    auto reply = co_await std::move(running);
    leave(*wire);
    co_return reply;
}

asio::awaitable<result<server_facts>> redis_link::ask_facts() {
    server_facts facts;
    facts.flush_is_heard = facts_.flush_is_heard;
    auto asking = send({"INFO"});
    const auto report = co_await std::move(asking);
    if (const auto failure = facts.read_answer(report); failure.code)
        co_return failure.code;
    for (const char* const pattern : {"*appendfsync*", "min-replicas-to-write"}) {
        auto reading = send({"CONFIG", "GET", pattern});
        const auto settings = co_await std::move(reading);
        if (!settings)
            co_return settings.error();
        facts.read_config(*settings);
    }
    co_return facts;
}

// The connection of the session, or a passing one if there is none.
asio::awaitable<result<redis_link::wire_ptr>> redis_link::reach(alarm& by) {
    if (connected_)
        co_return newest_wire();
    const wire_ptr wire = wires_(strand_);
    calls_.close_if_late(by, wire, settings_.connect_max);
    auto opening = wire->open(deaf_);
    const auto failure = co_await std::move(opening);
    if (!failure.code)
        co_return wire;
    wire->close();
    co_return remember(failure);
}

void redis_link::leave(const wire_ptr& wire) {
    if (wire != newest_wire())
        wire->close();
}

asio::awaitable<result<redis_value>>
redis_link::evaluate(wire_ptr wire, redis_script script, std::vector<std::string> arguments) {
    const auto kept = shared_from_this();
    auto evaluating = calls_.evaluate(wire, script, std::move(arguments));
    auto reply = co_await std::move(evaluating);
    if (reply && reply->type == redis_value::kind::error)
        co_return refused(wire, *reply);
    co_return reply;
}

void redis_link::on_closed(redis_failure why) noexcept {
    remember(std::move(why));
    const bool opening = opening_;
    drop_wire();
    if (!opening)
        reconnect_later();
}

void redis_link::reconnect_later() {
    if (!events_ || !has_session_)
        return;
    const auto when = coro::saturating_add(now(), backoff_.next());
    reconnect_alarm_.set(*time_, strand_, when, [weak = weak_from_this(), id = session_.id] {
        const auto self = weak.lock();
        if (self && self->events_ && self->has_session_ && !self->connected_ && !self->opening_ &&
            self->session_.id == id)
            asio::co_spawn(self->strand_, self->reconnect(self), asio::detached);
    });
}

asio::awaitable<void> redis_link::reconnect([[maybe_unused]] std::shared_ptr<redis_link> self) {
    ++session_.generation;
    const auto meant = session_.id;
    const auto before = incarnation_;
    auto resuming = resume_session();
    const auto reply = co_await std::move(resuming);
    if (!events_ || session_.id != meant)
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

void redis_link::on_push(redis_value push) noexcept {
    if (push.items.size() == 3 && push.items[0].text == "message") {
        on_message(push.items[2].text);
    } else if (push.items.size() == 2 && push.items[0].text == "invalidate") {
        // The database was flushed (null), or the record that describes the store has changed.
        tell(
            push.items[1].type == redis_value::kind::null ? store_event::kind::unsure
                                                          : store_event::kind::look_again
        );
    }
}

asio::awaitable<bool> redis_link::settle() {
    while (opening_) {
        auto waiting = settled_->async_wait(coro::detail::with_code);
        const auto [stopped] = co_await std::move(waiting);
        if (stopped)
            co_return false;
    }
    co_return connected_;
}

void redis_link::end_session() {
    has_session_ = false;
    drop_wire();  // Otherwise the connection would keep the context at work.
}

void redis_link::tell(store_event::kind kind) {
    store_event event;
    event.type = kind;
    if (kind == store_event::kind::session_lost)
        event.why = errc::session_lost;
    tell(event);
}

// Posted, because the owner must not be told from inside a call of the port.
void redis_link::tell(const store_event& event) {
    asio::post(strand_, [weak = weak_from_this(), event] {
        if (const auto self = weak.lock())
            self->tell_now(event);
    });
}

void redis_link::tell_now(const store_event& event) {
    if (event.type == store_event::kind::changed && !std::exchange(watching_, false))
        return;
    if (events_)
        events_->on_store_event(event);
}

}  // namespace mortise::store_detail
