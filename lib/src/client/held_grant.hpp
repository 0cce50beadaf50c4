// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_HELD_GRANT_HPP
#define MORTISE_CLIENT_HELD_GRANT_HPP

#include "client/claim.hpp"
#include "client/session_watch.hpp"
#include "mortise/coro/detail/wait_list.hpp"
#include "mortise/error.hpp"
#include "mortise/lease.hpp"
#include "mortise/owner_id.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace mortise::detail {

/// The grant behind one lease: a share in a claim, with a token.
///
/// The lease checks and releases it from any thread; the client marks the loss on its strand.
class held_grant : public std::enable_shared_from_this<held_grant> {
public:
    held_grant(
        std::shared_ptr<claim> claim,
        std::shared_ptr<const client_home> home,
        const fencing_token& token
    ) noexcept;
    ~held_grant();
    held_grant(const held_grant&) = delete;
    held_grant& operator=(const held_grant&) = delete;

    claim& of() const noexcept { return *of_; }
    const client_home& home() const noexcept { return *home_; }
    const fencing_token& token() const noexcept { return token_; }
    /// The token that the user sees: empty if it has no domain, since it then only names the grant
    /// at its store.
    fencing_token shown_token() const noexcept {
        return token_.domain.empty() ? fencing_token() : token_;
    }
    const std::string& name() const noexcept;

    // Each reads the session's time before the phase, and the clock after both: the client marks
    // the grants of a lost session before it publishes the times of the next one, so that a thread
    // which was paused between the reads never takes those for the old one's.
    lease_state state() const noexcept;
    /// Until when it is surely held; the clock's minimum once it is lost or released.
    clock::time_point deadline() const noexcept;
    /// When the newest proof was sent; the clock's minimum as above.
    clock::time_point verified() const noexcept;
    /// When the lease ends by its own `hold_max` or by that of its grant.
    clock::time_point end() const noexcept { return std::min(own_end.at(), of_->end.at()); }
    /// When its holder must be warned of that end.
    clock::time_point end_alarm() const noexcept {
        return std::min(own_end.alarm(), of_->end.alarm());
    }

    /// The result of `lease::check`.
    error_code check() const noexcept;

    /// Why the lease was lost, if it was.
    errc why() const noexcept { return why_.load(std::memory_order_relaxed); }

    /// Marks the lease as released by its user. @return false if it was released or lost before.
    bool take_for_release() noexcept;

    /// Marks the lease as lost and completes its waits. @return false if it was released or lost
    /// before.
    bool lose(errc why);

    /// As `lose`, but completes no wait: nobody can be told any longer.
    void lose_silently(errc why) noexcept;

    /// Completes the waits for the loss and for contention: the loss is near, or the lease was
    /// released and neither will come.
    void end_waiting(error_code why);

    /// Add a wait. The caller must check the lease afterwards: an earlier loss completes nothing.
    void wait_lost(lease_handler handler);
    void wait_contended(lease_handler handler);
    /// Completes the waits for contention only.
    void end_contended(error_code why);

    hold_end own_end;  ///< Of a reentrant lease with a `hold_max`.

    // On the client's strand.
    coro::detail::deadline_list::handle alarm;
    coro::detail::deadline_list::handle timer;

    // Under the mutex of the lock table.
    owner_id owner;
    lock_mode mode;
    std::chrono::milliseconds linger{0};
    std::shared_ptr<held_grant> root;  ///< The owner's first lease of this grant; null in that one.
    std::size_t count = 1;             ///< Of a first lease: how many share it.
    enum class place : std::uint8_t { nowhere, holders, lost };
    place stands = place::nowhere;  ///< In the claim's list, or in the queue's list of lost leases.
    bool watches = false;           ///< Whether somebody waits for contention.
    held_grant* before = nullptr;
    held_grant* after = nullptr;

private:
    bool over() const noexcept;

    enum class phase : std::uint8_t { live, lost, released };
    using waiters = std::atomic<coro::detail::wait_list<>*>;  // owned; made by the first wait

    static void wait(waiters& where, lease_handler handler);
    static void complete(waiters& list_of_waiters, error_code why);

    const std::shared_ptr<claim> of_;
    const std::shared_ptr<const client_home> home_;
    const fencing_token token_;
    std::atomic<phase> phase_ = phase::live;
    std::atomic<errc> why_ = errc::lease_lost;
    waiters for_loss_ = nullptr;
    waiters for_contention_ = nullptr;
};

}  // namespace mortise::detail

#endif
