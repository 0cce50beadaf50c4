// SPDX-License-Identifier: BSL-1.0
#include "zookeeper_model/sim_session.hpp"

#include "base/as_killed.hpp"
#include "mortise/sim/world.hpp"
#include "zookeeper_model/sim_ensemble.hpp"
#include "zookeeper_model/sim_server.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <sstream>
#include <utility>

namespace mortise::zookeeper_model {
namespace {

namespace asio = boost::asio;
using side = sim_connection::side;
using zookeeper_detail::zk_state;

zk_answer failure(zk_code code) {
    zk_answer answer;
    answer.failed = code;
    return answer;
}

}  // namespace

sim_session::sim_session(
    sim_ensemble& at,
    sim::process& client,
    asio::any_io_executor strand,
    std::shared_ptr<coro::time_source> time,
    config how,
    listener to
)
    : at_(at),
      client_(client),
      strand_(std::move(strand)),
      time_(std::move(time)),
      how_(std::move(how)),
      to_(std::move(to)) {}

sim_session::~sim_session() {
    if (connection_ && !mortise::detail::as_killed::now())
        connection_->close(side::client);
}

error_code sim_session::open() {
    std::istringstream list(how_.servers);
    for (std::string each; std::getline(list, each, ',');) {
        auto* const known = at_.find(each);
        if (!known)
            return errc::bad_url;
        servers_.push_back(known);
    }
    next_ = client_.in().random().below(servers_.size());
    asio::post(strand_, [self = shared_from_this()] { self->look(); });
    return {};
}

void sim_session::create(
    const std::string& path, const std::string& data, node_kind kind, replied then
) {
    zk_step step;
    step.type = zk_step::kind::create;
    step.path = path;
    step.data = data;
    step.node = kind;
    change_one(std::move(step), std::move(then));
}

void sim_session::erase(const std::string& path, std::int32_t version, replied then) {
    zk_step step;
    step.type = zk_step::kind::erase;
    step.path = path;
    step.version = version;
    change_one(std::move(step), std::move(then));
}

void sim_session::set(
    const std::string& path, const std::string& data, std::int32_t version, replied then
) {
    zk_step step;
    step.type = zk_step::kind::set;
    step.path = path;
    step.data = data;
    step.version = version;
    change_one(std::move(step), std::move(then));
}

void sim_session::change_one(zk_step step, replied then) {
    zk_request request;
    request.steps.push_back(std::move(step));
    ask(std::move(request), std::move(then));
}

void sim_session::change(std::vector<zk_step> steps, replied then) {
    zk_request request;
    request.steps = std::move(steps);
    request.several = true;
    ask(std::move(request), std::move(then));
}

void sim_session::get(const std::string& path, bool watch, replied then) {
    zk_request request;
    request.type = zk_request::kind::get;
    request.path = path;
    request.watch = watch;
    ask(std::move(request), std::move(then));
}

void sim_session::list(const std::string& path, bool watch, replied then) {
    zk_request request;
    request.type = zk_request::kind::list;
    request.path = path;
    request.watch = watch;
    ask(std::move(request), std::move(then));
}

void sim_session::ask(zk_request request, replied then) {
    if (closed_ || !connected())
        return asio::post(strand_, [then = std::move(then)] {
            then(failure(zk_code::invalid_state));
        });
    connection_->send(side::client, [to = server_, request](const connection_ptr& by) {
        to->take_request(by, request);
    });
    sent_ = time_->now();
    pending_request next;
    next.request = std::move(request);
    next.then = std::move(then);
    under_way_.push_back(std::move(next));
}

clock::duration sim_session::time_limit() const noexcept {
    return timeout_.count() != 0 ? timeout_ : how_.timeout;
}

void sim_session::connect() {
    server_ = servers_[next_++ % servers_.size()];
    connecting_since_ = heard_ = sent_ = time_->now();
    connection_ = std::make_shared<sim_connection>(at_.next_connection(), client_, server_->host());
    connection_->on_end(side::client, [weak = weak_from_this(), link = connection_->number()] {
        const auto self = weak.lock();
        if (self && self->connection_ && self->connection_->number() == link)
            self->lose_later(self->connection_);
    });
    greeting words;
    words.session = session_;
    words.timeout = how_.timeout;
    words.seen = seen_;
    connection_->send(
        side::client,
        [to = server_,
         self = std::weak_ptr<client_end>(weak_from_this()),
         words](const connection_ptr& by) { to->take_greeting(by, self, words); }
    );
}

void sim_session::lose_later(const connection_ptr& link) {
    asio::dispatch(strand_, [self = shared_from_this(), link] {
        self->lose(link, zk_code::connection_lost);
    });
}

void sim_session::lose(const connection_ptr& link, zk_code why) {
    if (closed_ || !link || link != connection_)
        return;
    const auto kept = shared_from_this();
    std::exchange(connection_, nullptr)->close(side::client);
    constexpr std::chrono::milliseconds pause(100);
    const bool all_failed = ++failures_ % servers_.size() == 0;
    retry_at_ = time_->now() + (all_failed ? pause : clock::duration::zero());
    const auto before = std::exchange(state_, zk_state::connecting);
    for (auto& each : std::exchange(under_way_, {}))
        each.then(failure(why));
    if (before == zk_state::connected && !closed_ && to_.remembered)
        to_.remembered("the connection to " + server() + " was lost");
    if (before == zk_state::connected && !closed_)
        to_.changed(zk_state::connecting);
    plan();
}

void sim_session::plan() {
    if (closed_ || state_ == zk_state::expired)
        return due_.cancel();
    const auto limit = time_limit();
    auto due = retry_at_;
    if (connection_ && connected())
        due = std::min(sent_ + limit / 3, heard_ + limit * 2 / 3);
    else if (connection_)
        due = connecting_since_ + limit * 2 / 3;
    due_.set(*time_, strand_, due, [weak = weak_from_this()] {
        if (const auto self = weak.lock())
            self->look();
    });
}

void sim_session::look() {
    if (closed_ || state_ == zk_state::expired)
        return;
    const auto now = time_->now();
    const auto limit = time_limit();
    if (!connection_ && now >= retry_at_) {
        connect();
    } else if (connection_ && connected()) {
        if (now >= heard_ + limit * 2 / 3)
            return lose(connection_, zk_code::operation_timeout);
        if (now >= sent_ + limit / 3) {
            connection_->send(side::client, [to = server_](const connection_ptr& by) {
                to->take_ping(by);
            });
            sent_ = now;
        }
    } else if (connection_ && now >= connecting_since_ + limit * 2 / 3) {
        return lose(connection_, zk_code::operation_timeout);
    }
    plan();
}

void sim_session::become(zk_state now) {
    if (std::exchange(state_, now) != now)
        to_.changed(now);
}

void sim_session::hear(const connection_ptr& by, std::function<void()> then) {
    asio::dispatch(strand_, [self = shared_from_this(), by, then = std::move(then)] {
        if (self->closed_ || self->connection_ != by)
            return;
        self->heard_ = self->time_->now();
        then();
    });
}

void sim_session::take_session(
    const connection_ptr& by, session_number session, std::chrono::milliseconds timeout
) {
    hear(by, [this, session, timeout] {
        if (session == 0) {
            std::exchange(connection_, nullptr)->close(side::client);
            due_.cancel();
            return become(zk_state::expired);
        }
        session_ = session;
        timeout_ = timeout;
        failures_ = 0;
        if (!watches_.empty())
            connection_->send(
                side::client,
                [to = server_, watches = watches_, seen = seen_](const connection_ptr& on) {
                    to->take_watches(on, watches, seen);
                }
            );
        plan();
        become(zk_state::connected);
    });
}

void sim_session::take_answer(const connection_ptr& by, zk_answer answer, zxid seen) {
    hear(by, [this, answer = std::move(answer), seen] {
        seen_ = std::max(seen_, seen);
        const auto done = std::move(under_way_.front());
        under_way_.pop_front();
        if (done.request.watch && !answer.failed) {
            if (done.request.type == zk_request::kind::list)
                watches_.watch_children(done.request.path);
            else
                watches_.watch_data(done.request.path);
        }
        done.then(answer);
    });
}

void sim_session::take_event(const connection_ptr& by, zk_event event) {
    hear(by, [this, event = std::move(event)] {
        watches_.take(event);
        to_.seen(event);
    });
}

void sim_session::take_pong(const connection_ptr& by) {
    hear(by, [] {});
}

std::string sim_session::server() const {
    return server_ ? server_->host().name() : "";
}

void sim_session::reconnect() noexcept {
    asio::post(strand_, [self = shared_from_this(), link = connection_] {
        self->lose(link, zk_code::connection_lost);
    });
}

void sim_session::close() noexcept {
    if (std::exchange(closed_, true))
        return;
    due_.cancel();
    if (const auto link = std::exchange(connection_, nullptr))
        link->close(side::client);
    auto lost = std::exchange(under_way_, {});
    if (lost.empty())
        return;
    asio::post(strand_, [lost = std::move(lost)] {
        for (const auto& each : lost)
            each.then(failure(zk_code::connection_lost));
    });
}

}  // namespace mortise::zookeeper_model
