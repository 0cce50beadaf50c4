// SPDX-License-Identifier: BSL-1.0
#include "store/redis/redis_link.hpp"

#include "mortise/coro/detail/with_code.hpp"
#include "store/redis/hex_id.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace mortise::store_detail {
namespace {

using std::chrono::milliseconds;

constexpr coro::backoff_options reconnecting{milliseconds(10), milliseconds(1'000), 2};

// How long a command may be without an answer: shorter than a session lives after a lost heartbeat,
// so that there is time for another connection.
clock::duration answer_max(clock::duration ttl) {
    return std::clamp<clock::duration>(ttl / 3, milliseconds(100), milliseconds(2'000));
}

// A connection without an answer for this long is asked whether it lives: heartbeats of a long TTL
// are rare, and nobody tells of a push that is lost.
constexpr milliseconds idle_max(2'000);

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
    lane_.emplace(strand_);
    events_ = &events;
    time_ = std::move(time);
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
    under_way_.clear();
    known_.forget();
    if (lane_)
        lane_->clear();
    answers_alarm_.cancel();
    idle_alarm_.cancel();
    dropped();
    if (const auto wire = std::exchange(wire_, nullptr))
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
    wire_ = wire;
    close_if_late(opening_alarm_, wire);
    auto opening = wire->open(*this);
    auto failure = co_await std::move(opening);
    if (!failure.code && wire_ == wire) {
        auto preparing = prepare(wire);
        failure = co_await std::move(preparing);
    }
    if (wire_ != wire || session_.id != id)
        co_return redis_failure(errc::store_unavailable, "given up");
    if (!failure.code) {
        auto learning = learn_facts();
        failure = co_await std::move(learning);
    }
    if (!failure.code) {
        auto loading = load_scripts();
        co_await std::move(loading);
    }
    if (!failure.code && wire_ != wire)
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

clock::duration redis_link::patience() const {
    return answer_max(session_.ttl);
}

// Asks what the server is. What this user may not ask stays unknown; `judge` says whether that
// matters.
asio::awaitable<redis_failure> redis_link::learn_facts() {
    const auto wire = wire_;
    server_facts facts;
    auto tracking =
        command(wire, {"CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", tracked(), "NOLOOP"});
    const auto heard = co_await std::move(tracking);
    facts.flush_is_heard = heard && heard->type != redis_value::kind::error;
    auto asking = command(wire, {"INFO"});
    const auto report = co_await std::move(asking);
    if (auto failure = facts.read_answer(report); failure.code)
        co_return failure;
    auto reading = command(wire, {"CONFIG", "GET", "*appendfsync*"});
    const auto reply = co_await std::move(reading);
    if (reply)
        facts.read_config(*reply);
    if (wire_ != wire)
        co_return redis_failure(errc::store_unavailable, "the connection was closed");
    facts_ = facts;
    strength_ = facts.strength();
    co_return facts_.judge(settings_.accepted, keys_expire());
}

// Loads the scripts before the first call: if the server learned a script between two calls, it
// would carry out the second call before the first one is repeated. A user who may not load scripts
// sends the text with the first call.
asio::awaitable<void> redis_link::load_scripts() {
    const auto wire = wire_;
    const auto wanted = used_scripts();
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
    connected_ = reply && wire_;
    if (connected_) {
        backoff_.reset();
        watch_idle();
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
    return evaluate(connected_ ? wire_ : nullptr, script, std::move(arguments));
}

error_code redis_link::refused(const wire_ptr& wire, const redis_value& reply) {
    redis_failure failure{meaning_of_refusal(reply.text), reply.text};
    const auto why = failure.code;
    if (why == errc::read_only_server && wire == wire_)
        leave_server(std::move(failure));  // No longer the primary: another server may be.
    else if (why == errc::not_enough_replicas && wire == wire_)
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
    auto running = command(*wire, std::move(request));
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
        co_return wire_;
    const wire_ptr wire = wires_(strand_);
    close_if_late(by, wire);
    auto opening = wire->open(deaf_);
    const auto failure = co_await std::move(opening);
    if (!failure.code)
        co_return wire;
    wire->close();
    co_return remember(failure);
}

void redis_link::leave(const wire_ptr& wire) {
    if (wire != wire_)
        wire->close();
}

// Closes a connection that is not open in time, or a passing one that still exists by then.
void redis_link::close_if_late(alarm& by, const wire_ptr& wire) {
    by.set(
        *time_,
        strand_,
        coro::saturating_add(now(), settings_.connect_max),
        [wire = std::weak_ptr(wire)] {
            if (const auto late = wire.lock())
                late->close();
        }
    );
}

asio::awaitable<result<redis_value>>
redis_link::evaluate(wire_ptr wire, redis_script script, std::vector<std::string> arguments) {
    const auto kept = shared_from_this();
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
            if (reply && reply->type == redis_value::kind::error)
                co_return refused(wire, *reply);
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

// Runs a script on a passing connection, which is used for nothing else.
asio::awaitable<result<redis_value>>
redis_link::evaluate_once(wire_ptr wire, redis_script script, std::vector<std::string> arguments) {
    known_scripts known(scripts_);
    known.loaded(script);
    auto asking = call(wire, known.call(script, arguments));
    auto reply = co_await std::move(asking);
    if (reply && is_unknown_script(*reply)) {
        known.forget();
        auto asking_again = call(wire, known.call(script, arguments));
        reply = co_await std::move(asking_again);
    }
    if (reply && reply->type == redis_value::kind::error)
        co_return refused(wire, *reply);
    co_return reply;
}

asio::awaitable<result<redis_value>> redis_link::command(wire_ptr wire, redis_command command) {
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

void redis_link::leave_lane() {
    lane_->leave();
    if (!lane_->out_of_order())
        return;
    remember({errc::store_unavailable, "the server forgot its scripts between two commands"});
    const bool opening = opening_;
    drop_wire();
    if (!opening)
        reconnect_later();
}

asio::awaitable<result<redis_value>> redis_link::call(wire_ptr wire, redis_command command) {
    if (!wire)
        co_return error_code(errc::store_unavailable);
    if (wire == wire_) {
        under_way_.push_back(now());
        watch_answers();
    }
    auto calling = wire->call(std::move(command));
    auto reply = co_await std::move(calling);
    if (wire == wire_ && !under_way_.empty()) {
        under_way_.pop_front();
        answered_ = now();
    }
    co_return reply;
}

// The time since which the server is silent. Many commands at once may take longer than one: while
// answers come, the server is busy, not silent.
clock::time_point redis_link::silent_since() const {
    return std::max(under_way_.front(), answered_);
}

// Sets one timer, for the oldest command without an answer.
void redis_link::watch_answers() {
    if (answers_alarm_.is_set() || under_way_.empty())
        return;
    const auto due = silent_since() + answer_max(session_.ttl);
    answers_alarm_.set(*time_, strand_, due, [weak = weak_from_this(), due] {
        if (const auto self = weak.lock())
            self->answer_is_late(due);
    });
}

void redis_link::answer_is_late(clock::time_point due) {
    if (under_way_.empty())
        return;
    const auto limit = answer_max(session_.ttl);
    if (now() - due > limit / 2) {
        // This process was not running: it must first read what has come meanwhile.
        under_way_.front() = now() - limit / 2;
    } else if (silent_since() + limit <= now()) {
        const bool opening = opening_;
        remember({errc::store_unavailable, "a command was not answered in time"});
        drop_wire();
        if (!opening)
            reconnect_later();
        return;
    }
    watch_answers();
}

void redis_link::watch_idle() {
    if (session_.ttl / 3 <= idle_max)
        return;  // Heartbeats come often enough.
    idle_alarm_.set(*time_, strand_, now() + idle_max, [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self || !self->connected_)
            return;
        if (self->under_way_.empty() && self->now() - self->answered_ >= idle_max)
            asio::co_spawn(self->strand_, self->ping(self), asio::detached);
        self->watch_idle();
    });
}

// Asks for any answer. `watch_answers` notices if there is none, as for every command.
asio::awaitable<void> redis_link::ping([[maybe_unused]] std::shared_ptr<redis_link> self) {
    auto asking = call(wire_, {"PING"});
    co_await std::move(asking);
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
