// SPDX-License-Identifier: BSL-1.0
#include "client/lock_table.hpp"

#include "mortise/coro/assert.hpp"

#include <utility>

namespace mortise::detail {

lock_table::~lock_table() {
    if (!rules_.home->forked())
        abandon();
}

void lock_table::forget(held_grant& held) noexcept {
    const std::lock_guard guard(mutex_);
    if (const auto queue = held.of().queue.lock())
        queue->forget(held);
}

std::shared_ptr<lock_queue> lock_table::acquire(
    std::string name, const std::shared_ptr<local_waiter>& waiter, queue_work& work
) {
    const std::lock_guard guard(mutex_);
    if (closed_ || waiting_ >= waiters_max_) {
        waiter->code = closed_ ? closed_ : error_code(errc::too_many_waiters);
        work.done.push(waiter);
        return nullptr;
    }
    const auto queue = queue_of(std::move(name), *waiter);
    queue->acquire(waiter, work);
    const bool waits = !waiter->decided;
    if (waits)
        stand(*waiter, work);
    settle(*queue, work);
    return waits ? queue : nullptr;
}

bool lock_table::acquire_behind(
    const std::string& name, const std::shared_ptr<local_waiter>& waiter, queue_work& work
) {
    const std::lock_guard guard(mutex_);
    if (closed_ || waiting_ >= waiters_max_ || queues_.contains(name))
        return false;
    queue_of(name, *waiter)->acquire_behind(waiter, work);
    stand(*waiter, work);
    return true;
}

// Finds or makes the queue of that lock, for a waiter that comes to it.
std::shared_ptr<lock_queue> lock_table::queue_of(std::string name, local_waiter& waiter) {
    auto found = queues_.find(name);
    if (found == queues_.end()) {
        auto queue = std::make_shared<lock_queue>(name, rules_);
        found = queues_.emplace(std::move(name), std::move(queue)).first;
    }
    waiter.lock_name = found->second->name();
    waiter.queue = found->second;
    return found->second;
}

// Counts a waiter, in the queue or bound to a request of its own, and sets its deadline.
void lock_table::stand(local_waiter& waiter, queue_work& work) {
    waiter.stands = true;
    ++waiting_;
    const auto wait_max = waiter.options.wait_max;
    if (!waiter.queues || wait_max == std::chrono::milliseconds::max())
        return;
    const auto until = coro::saturating_add(rules_.home->now(), wait_max);
    waiter.deadline = deadline(until, ++last_deadline_);
    const auto place = deadlines_.emplace(*waiter.deadline, &waiter).first;
    if (place == deadlines_.begin())
        work.add(strand_task::kind::arm, nullptr);
}

// Follows each change: completed waiters no longer count, and a lock that is not in use is
// forgotten.
void lock_table::settle(lock_queue& queue, queue_work& work) {
    for (local_waiter* each = work.settled ? work.settled->after : work.done.first();
         each != nullptr;
         each = each->after) {
        work.settled = each;
        if (!std::exchange(each->stands, false))
            continue;
        --waiting_;
        if (each->deadline)
            deadlines_.erase(*each->deadline);
        each->deadline.reset();
    }
    if (queue.in_use())
        return;
    // A late event for a forgotten queue must not remove the new queue of the same name.
    const auto found = queues_.find(*queue.name());
    if (found != queues_.end() && found->second.get() == &queue)
        queues_.erase(found);
}

void lock_table::cancel(local_waiter& waiter, error_code why, queue_work& work) {
    const std::lock_guard guard(mutex_);
    const auto queue = waiter.stands ? waiter.queue.lock() : nullptr;
    if (!queue)
        return;  // The waiter was completed: the signal came too late.
    queue->cancel(waiter, why, work);
    settle(*queue, work);
}

lock_queue::release_outcome
lock_table::release(held_grant& held, release_handler& handler, bool late, queue_work& work) {
    const std::lock_guard guard(mutex_);
    claim& claim = held.of();
    const auto queue = claim.queue.lock();
    if (!queue)
        return lock_queue::release_outcome::was_gone;
    const auto outcome = queue->release(held, work);
    if (outcome == lock_queue::release_outcome::to_store) {
        claim.released = std::move(handler);
        claim.released_late = late;
        claim.released_lease = true;
    }
    settle(*queue, work);
    return outcome;
}

lock_queue::release_outcome lock_table::end_hold(held_grant& held, queue_work& work) {
    const std::lock_guard guard(mutex_);
    const auto queue = held.of().queue.lock();
    if (!queue)
        return lock_queue::release_outcome::was_gone;
    const auto outcome = queue->end_hold(held, work);
    settle(*queue, work);
    return outcome;
}

void lock_table::let_go(held_grant& held) {
    const std::lock_guard guard(mutex_);
    const auto queue = held.of().queue.lock();
    if (!queue)
        return;
    queue_work none;
    queue->let_go(held);
    settle(*queue, none);
}

bool lock_table::watch(held_grant& held) {
    const std::lock_guard guard(mutex_);
    const auto queue = held.of().queue.lock();
    return !queue || queue->watch(held);
}

void lock_table::granted(claim& claim, queue_work& work) {
    const std::lock_guard guard(mutex_);
    if (closed_)
        lock_queue::refused_all(claim.bound, closed_, work);
    if (const auto queue = claim.queue.lock()) {
        queue->granted(claim, work);
        settle(*queue, work);
    }
}

void lock_table::doomed(claim& claim, queue_work& work) {
    const std::lock_guard guard(mutex_);
    if (const auto queue = claim.queue.lock()) {
        queue->doomed(claim, work);
        settle(*queue, work);
    }
}

void lock_table::refused(claim& claim, error_code why, queue_work& work) {
    const std::lock_guard guard(mutex_);
    if (const auto queue = claim.queue.lock()) {
        queue->refused(claim, why, work);
        settle(*queue, work);
    }
}

void lock_table::give_up(claim& claim, error_code why, queue_work& work) {
    const std::lock_guard guard(mutex_);
    if (claim.at != claim::stage::asking)
        return;
    if (const auto queue = claim.queue.lock()) {
        queue->refused(claim, why, work);
        settle(*queue, work);
    }
}

bool lock_table::contended(claim& claim, queue_work& work) {
    const std::lock_guard guard(mutex_);
    const auto queue = claim.queue.lock();
    if (!queue)
        return !std::exchange(claim.contended, true);
    const bool news = queue->contended(claim, work);
    settle(*queue, work);
    return news;
}

void lock_table::add_tokens(claim& claim, const token_range& range) {
    const std::lock_guard guard(mutex_);
    claim.tokens.add(range);
}

void lock_table::draw_failed(claim& claim) {
    const std::lock_guard guard(mutex_);
    claim.tokens.draw_failed();
}

clock::time_point lock_table::linger_over(claim& claim, clock::time_point now, queue_work& work) {
    const std::lock_guard guard(mutex_);
    const auto queue = claim.queue.lock();
    if (!queue)
        return clock::time_point::max();
    const auto again = queue->linger_over(claim, now, work);
    settle(*queue, work);
    return again;
}

std::vector<std::shared_ptr<held_grant>> lock_table::lost(claim& claim, queue_work& work) {
    const std::lock_guard guard(mutex_);
    const auto queue = claim.queue.lock();
    if (!queue)
        return {};
    auto lost = queue->lost(claim, work);
    settle(*queue, work);
    return lost;
}

std::vector<std::shared_ptr<held_grant>> lock_table::holders(const claim& claim) const {
    const std::lock_guard guard(mutex_);
    std::vector<std::shared_ptr<held_grant>> found;
    for (held_grant* each = claim.holds; each != nullptr; each = each->after) {
        if (auto held = each->weak_from_this().lock())
            found.push_back(std::move(held));
    }
    return found;
}

void lock_table::close(error_code why, queue_work& work) {
    const std::lock_guard guard(mutex_);
    closed_ = why;
    const auto all = queues_;
    for (const auto& [name, queue] : all) {
        queue->close(why, work);
        settle(*queue, work);
    }
}

void lock_table::expire(clock::time_point now, queue_work& work) {
    const std::lock_guard guard(mutex_);
    while (!deadlines_.empty() && deadlines_.begin()->first.first <= now) {
        local_waiter& waiter = *deadlines_.begin()->second;
        deadlines_.erase(deadlines_.begin());
        waiter.deadline.reset();
        const auto queue = waiter.queue.lock();
        MORTISE_ASSERT(queue);
        queue->cancel(waiter, errc::busy, work);
        settle(*queue, work);
    }
}

clock::time_point lock_table::next_deadline() const {
    const std::lock_guard guard(mutex_);
    return deadlines_.empty() ? clock::time_point::max() : deadlines_.begin()->first.first;
}

bool lock_table::wanted(const claim& claim) const {
    const std::lock_guard guard(mutex_);
    const auto queue = claim.queue.lock();
    return claim.contended || (queue && queue->waited_for());
}

waiter_list lock_table::abandon() {
    const std::lock_guard guard(mutex_);
    queue_work work;
    closed_ = errc::client_stopped;
    const auto all = std::exchange(queues_, {});
    for (const auto& [name, queue] : all)
        queue->abandon(work);
    deadlines_.clear();
    return std::move(work.done);
}

}  // namespace mortise::detail
