// SPDX-License-Identifier: BSL-1.0
#include "db/postgres_pool.hpp"

#include "mortise/coro/error.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace mortise::db::detail {

postgres_pool::postgres_pool(
    asio::any_io_executor strand,
    std::shared_ptr<const postgres_config> settings,
    std::shared_ptr<coro::time_source> time,
    pg_connection::beside run_beside
)
    : strand_(std::move(strand)),
      settings_(std::move(settings)),
      time_(std::move(time)),
      run_beside_(std::move(run_beside)) {}

postgres_pool::ticket postgres_pool::take(receiver then) {
    const ticket id = ++last_;
    if (stopped_) {
        then({asio::error::operation_aborted, "the session was stopped"}, nullptr);
        return id;
    }
    auto& added = waiters_.emplace_back();
    added.id = id;
    added.then = std::move(then);
    serve();
    if (waiters_.size() > coming_ + settings_->queue_max) {
        const auto refused = std::move(waiters_.back().then);
        waiters_.pop_back();
        refused({coro::errc::queue_full, "queue_max transactions wait for a connection"}, nullptr);
        return id;
    }
    const auto still = std::find_if(waiters_.begin(), waiters_.end(), [id](const waiter& each) {
        return each.id == id;
    });
    if (still != waiters_.end()) {
        const auto expired = [weak = weak_from_this(), id] {
            const auto self = weak.lock();
            if (!self)
                return;
            auto& all = self->waiters_;
            const auto late = std::find_if(all.begin(), all.end(), [id](const waiter& each) {
                return each.id == id;
            });
            if (static_cast<std::size_t>(std::distance(all.begin(), late)) < self->coming_)
                return;  // a connection is opened for it, which has a limit of its own
            const auto tell = std::move(late->then);
            all.erase(late);
            tell({errc::no_connection_free, "no connection became free in time"}, nullptr);
        };
        still->limit.set(*time_, strand_, time_->now() + settings_->wait_max, expired);
    }
    return id;
}

bool postgres_pool::withdraw(ticket waiting) {
    return waiters_.remove_if([waiting](const waiter& each) { return each.id == waiting; }) > 0;
}

// Gives idle connections to those who wait, and has others opened for the rest.
void postgres_pool::serve() {
    const auto kept = shared_from_this();
    while (waiters_.size() > coming_ && !idle_.empty()) {
        const connection next = idle_.back();
        idle_.pop_back();
        if (too_old(next) || !next->check())
            discard(next);
        else if (time_->now() - all_[next].idle_since > settings_->check_after)
            probe(next);
        else
            hand(next);
    }
    while (!stopped_ && waiters_.size() > coming_ && all_.size() < settings_->connections_max)
        open_one();
}

void postgres_pool::open_one() {
    const auto fresh = std::make_shared<pg_connection>(strand_, settings_, time_, run_beside_);
    all_[fresh].born = time_->now();
    ++coming_;
    fresh->open([self = shared_from_this(), fresh](const pg_failure& why) {
        self->opened(fresh, why);
    });
}

void postgres_pool::opened(const connection& fresh, const pg_failure& why) {
    --coming_;
    if (why) {
        ++failed_;
        all_.erase(fresh);
        answer_first(why, nullptr);
    } else {
        ++opened_;
        hand(fresh);
    }
    serve();
    end_if_empty();
}

// A server that went away without a word, behind a router that forgets connections, is found by a
// question before somebody's statement is lost to it.
void postgres_pool::probe(const connection& idle) {
    ++coming_;
    idle->exchange({}, [self = shared_from_this(), idle](const postgres_detail::pg_reply& reply) {
        --self->coming_;
        const auto found = self->all_.find(idle);
        if (found != self->all_.end())
            found->second.limit.cancel();
        if (reply.failure)
            self->discard(idle);
        else
            self->hand(idle);
        self->serve();
        self->end_if_empty();
    });
    all_[idle].limit.set(
        *time_,
        strand_,
        time_->now() + settings_->connect_max,
        [weak = std::weak_ptr(idle)] {
            if (const auto silent = weak.lock())
                silent->close({errc::store_unavailable, "the server gives no sign of life"});
        }
    );
}

void postgres_pool::hand(const connection& free) {
    if (stopped_)
        return discard(free);
    if (waiters_.empty()) {
        all_[free].idle_since = time_->now();
        idle_.push_back(free);
        return;
    }
    answer_first({}, free);
}

void postgres_pool::answer_first(pg_failure why, const connection& free) {
    if (waiters_.empty())
        return;
    const auto then = std::move(waiters_.front().then);
    waiters_.pop_front();
    then(std::move(why), free);
}

bool postgres_pool::too_old(const connection& each) const {
    return time_->now() - all_.at(each).born > settings_->lifetime_max;
}

void postgres_pool::give_back(const connection& used) {
    using state = pg_connection::transaction;
    if (all_.count(used) == 0)
        return;
    const bool clean = used->usable() && !used->was_cancelled() && !used->busy() &&
                       used->transaction_state() == state::none;
    if (stopped_ || !clean || too_old(used))
        discard(used);
    else
        hand(used);
    serve();
    end_if_empty();
}

void postgres_pool::discard(const connection& closed) {
    const connection kept = closed;
    all_.erase(kept);
    kept->close({errc::store_unavailable, "the connection was closed"});
}

void postgres_pool::stop(std::function<void()> then) {
    const auto kept = shared_from_this();
    stopped_ = true;
    at_end_ = std::move(then);
    const auto unserved = std::exchange(waiters_, {});
    for (const auto& each : std::exchange(idle_, {}))
        discard(each);
    for (const auto& each : unserved)
        each.then({asio::error::operation_aborted, "the session was stopped"}, nullptr);
    end_if_empty();
}

void postgres_pool::close_all(const pg_failure& why) {
    const auto kept = shared_from_this();
    std::vector<connection> open;
    for (const auto& each : all_)
        open.push_back(each.first);
    all_.clear();
    for (const auto& each : open)
        each->close(why);
    end_if_empty();
}

void postgres_pool::drop() noexcept {
    stopped_ = true;
    at_end_ = nullptr;
    const auto unserved = std::exchange(waiters_, {});
    const auto idle = std::exchange(idle_, {});
    const auto all = std::exchange(all_, {});
    for (const auto& each : all)
        each.first->drop();
}

void postgres_pool::end_if_empty() {
    if (stopped_ && all_.empty() && at_end_)
        std::exchange(at_end_, nullptr)();
}

}  // namespace mortise::db::detail
