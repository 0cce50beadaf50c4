// SPDX-License-Identifier: BSL-1.0
#include "store/zookeeper/zookeeper_link.hpp"

#include "mortise/coro/detail/initiate.hpp"
#include "mortise/coro/detail/with_code.hpp"
#include "store/hex_id.hpp"
#include "store/store_domain.hpp"
#include "store/zookeeper/node_names.hpp"
#include "zookeeper/zk_error.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

namespace mortise::store_detail {

using zookeeper_detail::zk_code;

namespace {

constexpr std::chrono::milliseconds pause_min(10);
constexpr std::chrono::milliseconds pause_max(1'000);

}  // namespace

// The C client opens connections by itself, and ends no session.
zookeeper_link::zookeeper_link(zookeeper_store_config config, ensemble_access servers)
    : session_link(drawn_pauses({pause_min, pause_max, 2}, random_id::draw().low)),
      config_(std::move(config)),
      servers_(std::move(servers)),
      proof_(config_.tick) {}

void zookeeper_link::close_parting() noexcept {
    for (const auto& each : std::exchange(parting_, {}))
        each->close();
}

// The C client itself would wait for most of the time-out.
void zookeeper_link::attach(
    asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
) {
    const std::weak_ptr weak(std::static_pointer_cast<zookeeper_link>(shared_from_this()));
    const auto silent = [weak] {
        const auto self = weak.lock();
        if (!self || !self->handle_)
            return;
        self->remember({}, self->handle_->server() + " did not answer in time");
        self->answers_.clear();
        self->handle_->reconnect();
    };
    answers_.attach(strand, time, weak, silent, [] {});
    session_link::attach(std::move(strand), events, std::move(time));
}

std::string zookeeper_link::lock_path(std::string_view lock) const {
    return locks_path() + '/' + node_of_lock(lock);
}

void zookeeper_link::begin_session() {
    over_ = false;
    generation_ = session().generation;
}

asio::awaitable<result<resumed>> zookeeper_link::resume(session_start start) {
    const auto kept = shared_from_this();
    if (start.id != session().id) {
        if (handle_ && !over_)
            over();
        auto opening = open(std::move(start));
        co_return co_await std::move(opening);
    }
    if (over_ || start.generation <= generation_)
        co_return error_code(errc::session_lost);
    generation_ = start.generation;
    auto beating = beat();
    const auto proof = co_await std::move(beating);
    if (!proof)
        co_return proof.error();
    resumed reply;
    reply.sent = proof->sent;
    reply.base = proof->base;
    reply.incarnation = proof->incarnation;
    reply.domain = domain_;
    co_return reply;
}

void zookeeper_link::close_connection() noexcept {
    ++closings_;
    usable_ = false;
    answers_.clear();
    touch_alarm_.cancel();
    beat_alarm_.cancel();
    open_alarm_.cancel();
    reconnection_alarm_.cancel();
    if (const auto looking = std::exchange(looking_, nullptr))
        looking->give_up();
    if (const auto mine = std::exchange(handle_, nullptr))
        mine->close();
    if (decided_)
        decided_->set();
}

void zookeeper_link::changed(zk_state now) {
    if (now == zk_state::connecting) {
        usable_ = false;
        answers_.clear();
        watch_reconnection();
        return;
    }
    reconnection_alarm_.cancel();
    if (!decided_->is_set()) {
        decided_->set();
        return;
    }
    if (now == zk_state::connected)
        connected_again();
    else if (now == zk_state::expired)
        over();
}

// A server may take a connection and say nothing: one that stands still, or that is about to start.
// The C client would wait for two thirds of the time-out, which is longer than a lease lasts.
void zookeeper_link::watch_reconnection() {
    const auto patience = answers_.patience();
    const auto due = std::max(handle_->connecting_since() + patience, now() + patience / 2);
    const std::weak_ptr weak(std::static_pointer_cast<zookeeper_link>(shared_from_this()));
    reconnection_alarm_.set(*time(), strand(), due, [weak, patience, due, by = handle_] {
        const auto self = weak.lock();
        if (!self || self->handle_ != by || self->over_)
            return;
        // A process that did not run must first read what has come meanwhile.
        const bool late = self->now() > due + patience / 2;
        if (!late && self->now() >= by->connecting_since() + patience)
            by->reconnect();
        self->watch_reconnection();
    });
}

// The write comes before all else: what is read after it shows all that was sent by the connection
// before.
void zookeeper_link::connected_again() {
    if (over_)
        return;
    timeout_ = std::min(timeout_, handle_->timeout());
    if (timeout_ < session().ttl) {
        // Leases would be believed in for longer than this server keeps the session.
        usable_ = true;
        return over();
    }
    proof_.connected(handle_->connecting_since());
    usable_ = true;
    write_session();
    if (!connected())
        return;  // The session is being opened.
    if (to_.reconnected)
        to_.reconnected();
    came_back(incarnation());
}

void zookeeper_link::over() {
    if (std::exchange(over_, true))
        return;
    if (to_.ended)
        clear_up(to_.ended());
    tell(store_event::kind::session_lost);
    end_session();
}

// Others need not wait for the end of a session that nobody keeps any more. The link holds the
// handle meanwhile: if what is called with the answers did, a context that ends before they come
// would leave it behind.
void zookeeper_link::clear_up(std::vector<zk_change> changes) {
    if (!usable_)
        return;
    const auto kept = std::exchange(handle_, nullptr);
    parting_.push_back(kept);
    for (auto& each : changes)
        kept->change(std::move(each), [](const zk_answer&) {});
    const std::weak_ptr weak(std::static_pointer_cast<zookeeper_link>(shared_from_this()));
    const std::weak_ptr last(kept);
    kept->erase(session_path(), zk_step::any_version, [weak, last](const zk_answer&) {
        const auto handle = last.lock();
        if (handle)
            handle->close();
        if (const auto self = weak.lock())
            std::erase(self->parting_, handle);
    });
}

asio::awaitable<error_code> zookeeper_link::leave() {
    const auto kept = shared_from_this();
    const auto by = handle_;
    const auto asked = erase(session_path());
    auto taking = asked->take();
    const auto answer = co_await std::move(taking);
    if (answer.failed && answer.failed != zk_code::no_node)
        co_return meaning_of(answer.failed);
    if (handle_ == by) {
        over_ = true;
        end_session();
    }
    co_return error_code();
}

std::chrono::milliseconds zookeeper_link::server_time() const {
    if (beaten_at_ == 0)
        return std::chrono::milliseconds(0);
    const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(now() - beaten_here_);
    return std::chrono::milliseconds(beaten_at_) + since;
}

error_code zookeeper_link::meaning_of(const error_code& failed) {
    if (!failed || failed.category() != zookeeper_detail::zookeeper_category())
        return failed;
    if (zookeeper_detail::may_be_done(failed))
        return errc::outcome_unknown;
    switch (static_cast<zk_code>(failed.value())) {
    case zk_code::session_expired:
        return errc::session_lost;
    case zk_code::no_auth:
    case zk_code::auth_failed:
        return remember(errc::access_denied, "the servers refuse this user: " + failed.message());
    case zk_code::not_read_only:
        return remember(errc::read_only_server, "the server has no quorum: it takes no writes");
    case zk_code::throttled:
        return remember(errc::server_busy, "the server has too much to do, and refuses requests");
    case zk_code::ephemeral_on_local_session:
        return remember(
            errc::unsupported,
            "the servers keep local sessions, which end by themselves: set "
            "localSessionsUpgradingEnabled=true, or localSessionsEnabled=false"
        );
    case zk_code::invalid_state:
        return over_ ? errc::session_lost : errc::store_unavailable;
    default:
        return remember(errc::store_corrupt, "ZooKeeper: " + failed.message());
    }
}

void zk_reply::come(zk_answer answer) {
    answer_ = std::move(answer);
    come_ = true;
    if (auto waiter = waiting_.take_one())
        waiter.complete_here(error_code());
}

void zk_reply::wait(coro::detail::completion<void(error_code)> done, zk_reply* self) {
    self->waiting_.add(std::move(done));
}

asio::awaitable<zk_answer> zk_reply::take() {
    const auto kept = shared_from_this();
    if (!come_) {
        auto waiting = coro::detail::async_start<void(error_code)>(
            strand_, coro::detail::with_code, &zk_reply::wait, this
        );
        co_await std::move(waiting);
    }
    co_return std::move(answer_);
}

template <class Send>
zk_reply_ptr zookeeper_link::ask(Send send) {
    const auto reply = std::make_shared<zk_reply>(strand());
    if (!usable_ || !handle_->connected()) {
        zk_answer none;
        none.failed = zk_code::invalid_state;
        reply->come(std::move(none));
        return reply;
    }
    const std::weak_ptr by(handle_);
    const std::weak_ptr weak(std::static_pointer_cast<zookeeper_link>(shared_from_this()));
    answers_.sent();
    send(*handle_, [weak, by, reply, sent = now()](zk_answer answer) {
        const auto self = weak.lock();
        const bool current = self && self->handle_ && self->handle_ == by.lock();
        if (current && !zookeeper_detail::may_be_done(answer.failed)) {
            self->answers_.answered();
            self->proof_.touched(sent, self->now());
        }
        reply->come(std::move(answer));
    });
    return reply;
}

zk_reply_ptr zookeeper_link::create(const std::string& path, const std::string& data, kind type) {
    return ask([&](zk_session& on, zk_session::replied then) {
        on.create(path, data, type, std::move(then));
    });
}

zk_reply_ptr zookeeper_link::erase(const std::string& path) {
    return ask([&](zk_session& on, zk_session::replied then) {
        on.erase(path, zk_step::any_version, std::move(then));
    });
}

zk_reply_ptr zookeeper_link::set(const std::string& path, const std::string& data) {
    return ask([&](zk_session& on, zk_session::replied then) {
        on.set(path, data, zk_step::any_version, std::move(then));
    });
}

zk_reply_ptr zookeeper_link::get(const std::string& path, bool watch) {
    return ask([&](zk_session& on, zk_session::replied then) {
        on.get(path, watch, std::move(then));
    });
}

zk_reply_ptr zookeeper_link::list(const std::string& path, bool watch) {
    return ask([&](zk_session& on, zk_session::replied then) {
        on.list(path, watch, std::move(then));
    });
}

zk_reply_ptr zookeeper_link::change(zk_change steps) {
    return ask([&](zk_session& on, zk_session::replied then) {
        on.change(std::move(steps), std::move(then));
    });
}

// What has run out is never extended: the leader may be about to end the session.
void zookeeper_link::expect_beat(clock::time_point sent, clock::time_point base) {
    const std::weak_ptr weak(std::static_pointer_cast<zookeeper_link>(shared_from_this()));
    const auto& ttl = session().ttl;
    believed_until_ = base + ttl;
    beat_alarm_.set(*time(), strand(), believed_until_, [weak] {
        if (const auto self = weak.lock())
            self->over();
    });
    const auto next = sent + ttl / 3;
    const auto at = std::max(now(), next - config_.tick * 3 / 2);
    touch_alarm_.set(*time(), strand(), at, [weak] {
        if (const auto self = weak.lock())
            self->get(self->session_path());
    });
}

asio::awaitable<result<heartbeat>> zookeeper_link::beat() {
    const auto kept = shared_from_this();
    if (over_)
        co_return error_code(errc::session_lost);
    heartbeat reply;
    reply.sent = now();
    const auto by = handle_;
    const bool sends = usable_;
    if (sends)
        proof_.beat_sent(reply.sent);
    const auto asked = write_session();
    auto taking = asked->take();
    const auto answer = co_await std::move(taking);
    if (over_ || answer.failed == zk_code::no_node) {
        if (handle_ == by)
            over();
        co_return error_code(errc::session_lost);
    }
    if (answer.failed)
        co_return meaning_of(answer.failed);
    if (handle_ != by)
        co_return error_code(errc::outcome_unknown);
    if (now() >= believed_until_) {
        over();
        co_return error_code(errc::session_lost);
    }
    beaten_at_ = answer.stat.modified_at;
    beaten_here_ = now();
    // The servers keep the session for longer than the TTL.
    const auto base = proof_.beat_acknowledged(now()) + (timeout_ - session().ttl);
    reply.base = std::min(base, reply.sent);
    reply.incarnation = incarnation();
    expect_beat(reply.sent, *reply.base);
    co_return reply;
}

}  // namespace mortise::store_detail
