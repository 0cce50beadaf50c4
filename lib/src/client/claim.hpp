// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_CLAIM_HPP
#define MORTISE_CLIENT_CLAIM_HPP

#include "client/local_waiter.hpp"
#include "core/acquire_fsm.hpp"
#include "core/hold_belief.hpp"
#include "mortise/coro/assert.hpp"
#include "mortise/coro/detail/completion.hpp"
#include "mortise/coro/detail/deadline_list.hpp"
#include "mortise/error.hpp"
#include "mortise/fencing_token.hpp"
#include "mortise/lock_mode.hpp"
#include "mortise/store_types.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::detail {

using coro::detail::deadline_list;

/// The tokens that belong to a grant: a block that came with it, and blocks drawn later.
///
/// A grant is passed on inside the process with its next token. When half of a block is used up,
/// the next one is drawn, so that passing on does not wait for the store. No clock, no I/O.
class token_supply {
public:
    token_supply() = default;

    /// The supply of a grant that came with `first`.
    explicit token_supply(const fencing_token& first) noexcept
        : domain_(first.domain),
          next_(first.value),
          end_((first.base() + 1) << fencing_token::sequence_bits),
          draw_at_(next_ + (end_ - next_) / 2) {}

    bool empty() const noexcept { return next_ == end_ && later_next_ == later_end_; }

    /// Requires that a token is left.
    fencing_token take() noexcept {
        MORTISE_ASSERT(!empty());
        if (next_ == end_) {
            next_ = later_next_;
            end_ = later_end_;
            later_next_ = later_end_ = 0;
            draw_at_ = next_ + (end_ - next_) / 2;
        }
        return {next_++, domain_};
    }

    /// Whether the time has come to draw more; true once for each block. Never of an empty object.
    bool wants_more() noexcept {
        if (drawing_ || end_ == 0 || later_next_ != later_end_ || next_ < draw_at_)
            return false;
        drawing_ = true;
        return true;
    }

    /// Adds the block that was drawn.
    void add(const token_range& range) noexcept {
        MORTISE_ASSERT(drawing_ && range.first.value >= end_ && range.first.domain == domain_);
        drawing_ = false;
        later_next_ = range.first.value;
        later_end_ = range.first.value + range.count;
    }

    /// Notes that the draw failed; `wants_more` asks again after the next token.
    void draw_failed() noexcept { drawing_ = false; }

private:
    token_domain domain_;
    std::uint64_t next_ = 0;
    std::uint64_t end_ = 0;
    std::uint64_t later_next_ = 0;
    std::uint64_t later_end_ = 0;
    std::uint64_t draw_at_ = 0;
    bool drawing_ = false;
};

/// When a grant or a lease ends by its `hold_max`, and when its holder must be warned of that.
///
/// @par Threads Any reads it; it is written before the lease is delivered, then on the client's
///              strand.
class hold_end {
public:
    using moment = core::hold_belief::moment;

    /// After `hold`, of which `margin` is enough for a warning.
    static moment
    after(clock::time_point since, clock::duration hold, clock::duration margin) noexcept {
        const auto end = coro::saturating_add(since, hold);
        return {end, end - std::min(margin, hold / 10)};
    }

    void set(moment end) noexcept {
        alarm_.store(end.alarm, std::memory_order_release);
        at_.store(end.end, std::memory_order_release);
    }

    clock::time_point at() const noexcept { return at_.load(std::memory_order_acquire); }
    clock::time_point alarm() const noexcept { return alarm_.load(std::memory_order_acquire); }

private:
    std::atomic<clock::time_point> at_ = clock::time_point::max();
    std::atomic<clock::time_point> alarm_ = clock::time_point::max();
};

class client_session;
class held_grant;
class lock_queue;
class session_watch;

/// The end of a claim that was not asked for, because one before it in the same call was not
/// granted, or of whose request nothing is left. No user sees it.
inline error_code not_asked() noexcept {
    return asio::error::try_again;
}

/// Empty for a destructor's release.
using release_handler = coro::detail::completion<void(error_code)>;

/// One client's entry at the store for one lock: a request, then its grant. It stands for all
/// coroutines to which the lock is passed inside the process.
class claim : public std::enable_shared_from_this<claim> {
public:
    enum class stage : std::uint8_t {
        asking,   ///< Until the store's yes, or until nothing is left to undo.
        granted,  ///< Serves the queue.
        over,     ///< Released, or lost.
    };

    claim(
        std::shared_ptr<const std::string> lock,
        std::weak_ptr<lock_queue> owner,
        lock_mode how,
        std::chrono::milliseconds hold,
        bool may_queue
    )
        : queue(std::move(owner)),
          mode(how),
          hold_max(hold),
          queues(may_queue),
          kept_for(hold),
          lock_name_(std::move(lock)) {}

    const std::string& lock_name() const noexcept { return *lock_name_; }

    bool ends_by_itself() const noexcept { return hold_max != std::chrono::milliseconds::max(); }

    /// The queue that owns the claim; gone once nothing of the lock is in use.
    const std::weak_ptr<lock_queue> queue;
    const lock_mode mode;
    const std::chrono::milliseconds hold_max;
    const bool queues;

    // On the client's strand.
    client_session* session = nullptr;  ///< That asks for it or keeps its grant; null at first.
    core::acquire_fsm fsm;
    request_id id = 0;        ///< Of the present request; zero while there is none.
    std::uint64_t order = 0;  ///< The order of arrival at the strand.
    clock::time_point sent = clock::time_point::max();  ///< When that request was first sent.
    bool asked_again = false;  ///< Sent again by the same id: a grant may be as old as `sent`.
    /// It is asked for in one call with claims that must be granted before it, and by no other
    /// call: if nothing comes of that, its waiter ends with `not_asked` and may begin anew.
    bool behind = false;
    /// If a look found the grant: when the look was sent, and the age that it reported.
    clock::time_point seen_at;
    clock::duration age{};
    clock::time_point undo_since;  ///< When its undoing began.
    deadline_list::handle timer;   ///< For the undo budget; later for `linger` or `hold_max`.
    deadline_list::handle retry_timer;
    deadline_list::handle alarm;  ///< Before the end of `hold_max`.
    unsigned retries = 0;
    bool store_busy = false;   ///< The last try to undo found the store busy with somebody else.
    core::hold_belief belief;  ///< In its end.
    /// For how long the store keeps the grant, as it has told, and when it has told so of an
    /// extension.
    std::chrono::milliseconds kept_for;
    clock::time_point extended_at = clock::time_point::min();

    // Written once, before the grant is delivered.
    fencing_token token;                         ///< As the store knows the grant.
    std::uint32_t slot = 0;                      ///< Of a permit.
    std::shared_ptr<const session_watch> watch;  ///< Of the session that keeps the grant.

    hold_end end;  ///< By its `hold_max`.

    // Under the mutex of the lock table.
    stage at = stage::asking;
    waiter_list bound;  ///< The waiters that get its outcome; if empty, a grant serves the queue.
    const local_waiter* only_for = nullptr;  ///< The waiter whose `hold_max` it carries.
    token_supply tokens;
    held_grant* holds = nullptr;  ///< Its leases, as an intrusive list.
    std::size_t holders = 0;
    bool hosts_readers = false;  ///< Its present holders are readers, who share `shared_token`.
    fencing_token shared_token;
    bool contended = false;  ///< Another client waits for the lock.
    std::uint32_t turn_left = 0;
    clock::time_point turn_end;
    release_handler released;             ///< Completed once the store has the grant back.
    bool released_late = false;           ///< By a destructor.
    bool released_lease = false;          ///< It goes back because its last lease was released.
    std::chrono::milliseconds linger{0};  ///< As its last holder wished.
    clock::time_point idle_since;
    bool linger_armed = false;  ///< Whether a timer for `linger` is set.

private:
    const std::shared_ptr<const std::string> lock_name_;
};

/// A release under way: tried until the store acknowledges it or the session is gone. Lives on the
/// strand.
struct release_op {
    explicit release_op(std::shared_ptr<claim> released)
        : released_claim(std::move(released)),
          handler(std::move(released_claim->released)),
          of_lease(released_claim->released_lease),
          late(released_claim->released_late) {}

    const std::shared_ptr<claim> released_claim;
    release_handler handler;  ///< Empty for a destructor's release, and once completed.
    /// Somebody released a lease. Else a grant goes back whose last lease has lingered or ended, or
    /// that nobody wanted any longer.
    const bool of_lease;
    const bool late;  ///< By a destructor.
    clock::time_point since;
    deadline_list::handle timer;  ///< The budget.
    deadline_list::handle retry_timer;
    bool answered = false;  ///< The store answered, even if by an error.
    /// Requests for the same lock, to be sent once this release is answered.
    std::vector<std::shared_ptr<claim>> behind;
    unsigned retries = 0;
    bool store_busy = false;  ///< The last try found the store busy with somebody else.
    bool reported = false;    ///< Its failure, to the observer.
};

/// A task that a client must do on its strand because its lock table changed.
struct strand_task {
    enum class kind : std::uint8_t {
        ask,      ///< A new claim: send its request.
        stop,     ///< Nobody wants this claim any longer: undo it.
        release,  ///< Give the grant back to the store.
        draw,     ///< Draw more tokens.
        linger,   ///< Give the grant back, if it is still idle when `linger` is over.
        time,     ///< A lease that ends before its grant: set its timers.
        untime,   ///< Such a lease was released: clear its timers.
        arm,      ///< A waiter has the nearest deadline: set the client's timer.
    };

    kind type;
    std::shared_ptr<claim> target;
    error_code why;                    ///< With `stop`.
    std::shared_ptr<held_grant> held;  ///< With `time` and `untime`.
};

/// The consequences of a change of the lock table, carried out when its mutex is free again.
struct queue_work {
    queue_work() = default;

    waiter_list done;  ///< To be completed.
    /// The last of them that the lock table has settled; null: none.
    const local_waiter* settled = nullptr;
    std::vector<strand_task> tasks;
    /// Leases whose lock became contended, and whose users wait for that.
    std::vector<std::shared_ptr<held_grant>> contended;

    void add(strand_task::kind type, std::shared_ptr<claim> target, error_code why = {}) {
        tasks.push_back({type, std::move(target), why, nullptr});
    }
    void add_hold(strand_task::kind type, std::shared_ptr<held_grant> held) {
        tasks.push_back({type, nullptr, {}, std::move(held)});
    }
};

}  // namespace mortise::detail

#endif
