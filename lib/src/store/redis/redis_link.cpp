// SPDX-License-Identifier: BSL-1.0
#include "store/redis/redis_link.hpp"

#include "mortise/coro/backoff.hpp"
#include "store/hex_id.hpp"

#include <utility>

namespace mortise::store_detail {
namespace {

using std::chrono::milliseconds;

constexpr coro::backoff_options reconnecting{milliseconds(10), milliseconds(1'000), 2};

}  // namespace

redis_link::redis_link(link_settings settings, redis_wire_factory wires)
    : session_link(drawn_pauses(reconnecting, random_id::draw().low)),
      settings_(std::move(settings)),
      scripts_(redis_scripts::shared()),
      wires_(std::move(wires)) {}

void redis_link::attach(
    asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
) {
    session_link::attach(std::move(strand), events, std::move(time));
    calls_.attach(
        session_link::strand(),
        session_link::time(),
        weak_from_this(),
        [this](redis_failure why) { give_up(std::move(why), patience()); }
    );
}

error_code redis_link::remember(const redis_failure& why) {
    return session_link::remember(
        why.code, settings_.name + ": " + why.text + "; " + std::string(redis_remedy(why))
    );
}

asio::awaitable<error_code> redis_link::open_connection() {
    name_ = short_name(session().id);
    calls_.answers().set_ttl(session().ttl);
    auto connecting = connect();
    const auto failure = co_await std::move(connecting);
    co_return failure.code ? remember(failure) : error_code();
}

void redis_link::close_connection() noexcept {
    const auto wire = calls_.drop();
    dropped();
    if (wire)
        wire->close();
}

void redis_link::opening_ended(bool in_use) {
    opening_alarm_.cancel();
    if (in_use)
        calls_.answers().watch_quiet();
}

// Opens a new wire for each try, so that nothing of an earlier one is left in it.
asio::awaitable<redis_failure> redis_link::connect() {
    const wire_ptr wire = wires_(strand());
    calls_.use(wire);
    limit_opening(wire);
    auto opening = wire->open(*this);
    auto failure = co_await std::move(opening);
    if (!failure.code && newest_wire() == wire) {
        auto preparing = prepare(wire);
        failure = co_await std::move(preparing);
    }
    if (newest_wire() != wire)
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

// A wire that is late is dropped, and not only closed: nobody is told of a wire that was closed, so
// that an opening which waits for something else would take it into use.
void redis_link::limit_opening(const wire_ptr& wire) {
    const auto due = coro::saturating_add(now(), settings_.connect_max);
    opening_alarm_.set(*time(), strand(), due, [weak = weak_from_this(), of = std::weak_ptr(wire)] {
        const auto self = std::static_pointer_cast<redis_link>(weak.lock());
        if (self && self->newest_wire() == of.lock())
            self->give_up(
                {errc::store_unavailable, "it does not greet in time"}, self->settings_.connect_max
            );
    });
}

// The server owes answers.
void redis_link::give_up(redis_failure why, clock::duration patience) noexcept {
    if (const auto wire = newest_wire())
        wire->abandon(patience);
    on_closed(std::move(why));
}

asio::awaitable<redis_failure> redis_link::prepare(wire_ptr) {
    co_return redis_failure();
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

error_code redis_link::refused(const wire_ptr& wire, const redis_value& reply) {
    const redis_failure failure{meaning_of_refusal(reply.text), reply.text};
    const auto why = failure.code;
    const bool elsewhere = why == errc::read_only_server || is_elsewhere(reply.text);
    if (elsewhere && wire == newest_wire())
        leave_server(failure);  // Another server is the primary, or has the slot.
    else if (why == errc::not_enough_replicas && wire == newest_wire())
        lacks_replicas(failure);
    else
        remember(failure);
    return why;
}

// Leaves the server after a TTL: if it was cut off, its address may lead to another one by now.
void redis_link::lacks_replicas(const redis_failure& why) {
    const auto since = refusing_since_.value_or(now());
    if (now() - since >= session().ttl)
        leave_server(why);
    else
        remember(why);
    refusing_since_ = since;
}

void redis_link::leave_server(const redis_failure& why) {
    remember(why);
    replace_connection();
}

asio::awaitable<result<redis_value>> redis_link::ask(script_call wanted) {
    const auto kept = shared_from_this();
    alarm late;
    auto reaching = reach(late);
    const auto wire = co_await std::move(reaching);
    if (!wire)
        co_return wire.error();
    auto evaluating = evaluate(*wire, std::move(wanted));
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
    if (reply && reply->type == redis_value::kind::error &&
        (is_elsewhere(reply->text) || is_in_motion(reply->text)))
        reply = refused(*wire, *reply);
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
    if (connected())
        co_return newest_wire();
    if (!attached())
        co_return error_code(errc::store_unavailable);
    const wire_ptr wire = wires_(strand());
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

asio::awaitable<result<redis_value>> redis_link::evaluate(wire_ptr wire, script_call wanted) {
    const auto kept = shared_from_this();
    auto evaluating = calls_.evaluate(wire, std::move(wanted));
    auto reply = co_await std::move(evaluating);
    if (reply && reply->type == redis_value::kind::error)
        co_return refused(wire, *reply);
    co_return reply;
}

void redis_link::on_closed(redis_failure why) noexcept {
    remember(why);
    connection_closed();
}

void redis_link::on_push(redis_value push) noexcept {
    if (push.items.size() == 3 && push.items[0].text.ends_with("message")) {
        on_message(push.items[2].text);
    } else if (push.items.size() == 2 && push.items[0].text == "invalidate") {
        // The database was flushed (null), or the record that describes the store has changed.
        tell(
            push.items[1].type == redis_value::kind::null ? store_event::kind::unsure
                                                          : store_event::kind::look_again
        );
    }
}

}  // namespace mortise::store_detail
