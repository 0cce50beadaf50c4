// SPDX-License-Identifier: BSL-1.0
#include "db/server_pool.hpp"

#include "mortise/coro/error.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace mortise::db::detail {
namespace {

server_failure session_stopped() {
    return {asio::error::operation_aborted, "the session was stopped"};
}

}  // namespace

server_pool::server_pool(
    asio::any_io_executor strand,
    std::shared_ptr<server_place> place,
    std::shared_ptr<coro::time_source> time,
    std::shared_ptr<pool_counts> counts
)
    : strand_(std::move(strand)),
      place_(std::move(place)),
      time_(std::move(time)),
      counts_(std::move(counts)) {}

server_pool::ticket server_pool::take(receiver then, rank where) {
    const ticket id = ++last_;
    if (stopped_) {
        then(session_stopped(), nullptr);
        return id;
    }
    auto& added = where == rank::last ? waiters_.emplace_back() : waiters_.emplace_front();
    added.id = id;
    added.then = std::move(then);
    serve();
    if (where == rank::last && waiters_.size() > coming_ + limits().queue_max) {
        const auto refused = std::move(waiters_.back().then);
        waiters_.pop_back();
        refused({coro::errc::queue_full, "queue_max transactions wait for a connection"}, nullptr);
    } else if (const auto still = find(id); still != waiters_.end()) {
        const auto expired = [weak = weak_from_this(), id] {
            if (const auto self = weak.lock())
                self->expire(id);
        };
        still->limit.set(*time_, strand_, time_->now() + limits().wait_max, expired);
    }
    note_sizes();
    return id;
}

std::list<server_pool::waiter>::iterator server_pool::find(ticket id) {
    return std::find_if(waiters_.begin(), waiters_.end(), [id](const waiter& each) {
        return each.id == id;
    });
}

void server_pool::expire(ticket late) {
    const auto found = find(late);
    if (found == waiters_.end() ||
        static_cast<std::size_t>(std::distance(waiters_.begin(), found)) < coming_)
        return;  // a connection is opened for it, which has a limit of its own
    const auto then = std::move(found->then);
    waiters_.erase(found);
    note_sizes();
    then({errc::no_connection_free, "no connection became free in time"}, nullptr);
}

bool server_pool::withdraw(ticket waiting) {
    const bool found =
        waiters_.remove_if([waiting](const waiter& each) { return each.id == waiting; }) > 0;
    note_sizes();
    return found;
}

// Gives idle connections to those who wait, and has others opened for the rest.
void server_pool::serve() {
    const auto kept = shared_from_this();
    while (waiters_.size() > coming_ && !idle_.empty()) {
        const connection next = idle_.back();
        idle_.pop_back();
        if (too_old(next) || !next->check())
            discard(next);
        else if (time_->now() - all_[next].idle_since > limits().check_after)
            probe(next);
        else
            hand(next);
    }
    while (!stopped_ && waiters_.size() > coming_ && all_.size() < limits().connections_max)
        open_one();
}

void server_pool::open_one() {
    const auto fresh = place_->connection(strand_, time_);
    auto& added = all_[fresh];
    added.born = time_->now();
    added.coming = true;
    ++coming_;
    fresh->open([self = shared_from_this(), fresh](server_failure why) {
        self->opened(fresh, std::move(why));
    });
}

// Whether the pool still waits for the connection, which is then no longer on its way.
bool server_pool::arrives(const connection& coming) {
    const auto found = all_.find(coming);
    if (found == all_.end() || !std::exchange(found->second.coming, false))
        return false;
    found->second.limit.cancel();
    --coming_;
    return true;
}

void server_pool::opened(const connection& fresh, server_failure why) {
    if (!arrives(fresh))
        return;
    if (why) {
        ++counts_->failed;
        all_.erase(fresh);
        answer_first(std::move(why), nullptr);
    } else {
        ++counts_->opened;
        hand(fresh);
    }
    serve();
    end_if_empty();
}

// A server that went away without a word, behind a router that forgets connections, is found by a
// question before somebody's statement is lost to it.
void server_pool::probe(const connection& idle) {
    auto& asked = all_[idle];
    asked.coming = true;
    ++coming_;
    asked.limit
        .set(*time_, strand_, time_->now() + limits().connect_max, [weak = std::weak_ptr(idle)] {
            if (const auto silent = weak.lock())
                silent->close({errc::store_unavailable, "the server gives no sign of life"});
        });
    idle->probe([self = shared_from_this(), idle](const server_failure& why) {
        self->probed(idle, why);
    });
}

void server_pool::probed(const connection& idle, const server_failure& why) {
    if (!arrives(idle))
        return;
    if (why)
        discard(idle);
    else
        hand(idle);
    serve();
    end_if_empty();
}

void server_pool::hand(const connection& free) {
    if (stopped_)
        return discard(free);
    if (waiters_.empty()) {
        free->served = true;
        all_[free].idle_since = time_->now();
        idle_.push_back(free);
        return;
    }
    answer_first({}, free);
}

void server_pool::answer_first(server_failure why, const connection& free) {
    if (waiters_.empty())
        return;
    const auto then = std::move(waiters_.front().then);
    waiters_.pop_front();
    note_sizes();
    then(std::move(why), free);
}

bool server_pool::too_old(const connection& each) const {
    return time_->now() - all_.at(each).born > limits().lifetime_max;
}

void server_pool::give_back(const connection& used) {
    if (all_.count(used) == 0)
        return;
    used->served = true;
    if (stopped_ || !used->reusable() || too_old(used))
        discard(used);
    else
        hand(used);
    serve();
    end_if_empty();
}

void server_pool::discard(const connection& closed) {
    const connection kept = closed;
    static_cast<void>(arrives(kept));
    all_.erase(kept);
    kept->close({errc::store_unavailable, "the connection was closed"});
}

// Those that are being opened are closed, too: nobody waits for them any longer.
void server_pool::stop(std::function<void()> then) {
    const auto kept = shared_from_this();
    stopped_ = true;
    at_end_ = std::move(then);
    const auto unserved = std::exchange(waiters_, {});
    auto unused = std::exchange(idle_, {});
    for (const auto& [each, known] : all_) {
        if (known.coming)
            unused.push_back(each);
    }
    for (const auto& each : unused)
        discard(each);
    for (const auto& each : unserved)
        each.then(session_stopped(), nullptr);
    end_if_empty();
}

void server_pool::close_all(const server_failure& why) {
    const auto kept = shared_from_this();
    const auto open = std::exchange(all_, {});
    for (const auto& each : open)
        each.first->close(why);
    end_if_empty();
}

void server_pool::drop() noexcept {
    stopped_ = true;
    at_end_ = nullptr;
    const auto unserved = std::exchange(waiters_, {});
    const auto idle = std::exchange(idle_, {});
    const auto all = std::exchange(all_, {});
    for (const auto& each : all)
        each.first->drop();
}

void server_pool::end_if_empty() {
    note_sizes();
    if (stopped_ && all_.empty() && at_end_)
        std::exchange(at_end_, nullptr)();
}

void server_pool::note_sizes() noexcept {
    counts_->connections = all_.size();
    counts_->idle = idle_.size();
    counts_->waiting = waiters_.size();
}

}  // namespace mortise::db::detail
