// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_HELD_GRANT_HPP
#define MORTISE_CLIENT_HELD_GRANT_HPP

#include "client/claim.hpp"
#include "client/client_home.hpp"
#include "mortise/coro/detail/wait_list.hpp"
#include "mortise/error.hpp"
#include "mortise/lease.hpp"
#include "mortise/owner_id.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace mortise::detail {

/// What a lease stands for: a share in a claim, with a token of its own.
///
/// The lease asks and releases from its own thread; the client marks the loss on its strand.
class held_grant : public std::enable_shared_from_this<held_grant> {
public:
    held_grant(
        std::shared_ptr<claim> what,
        std::shared_ptr<const client_home> home,
        const fencing_token& token
    ) noexcept;
    ~held_grant();
    held_grant(const held_grant&) = delete;
    held_grant& operator=(const held_grant&) = delete;

    claim& of() const noexcept { return *of_; }
    const client_home& home() const noexcept { return *home_; }
    const fencing_token& token() const noexcept { return token_; }
    /// What its user sees: a token of no domain is only how its store names the grant.
    fencing_token shown_token() const noexcept {
        return token_.domain.empty() ? fencing_token() : token_;
    }
    const std::string& name() const noexcept;

    lease_state state() const noexcept;
    clock::time_point deadline() const noexcept;

    /// What `lease::check` says.
    error_code check() const noexcept;

    /// Why it was lost, if it was.
    errc why() const noexcept { return why_.load(std::memory_order_relaxed); }

    /// The user lets go. @return whether the grant was still there to be released, by this caller.
    bool take_for_release() noexcept;

    /// The store, or the client's end, took it. Tells who waits. @return whether this was news.
    bool lose(errc why);

    /// As `lose`, where nobody can be told any more.
    void lose_silently(errc why) noexcept;

    /// Tells who waits for the loss: that it is near, or that it will not come after a release.
    void end_waiting(error_code why);

    /// The caller looks afterwards whether it must wait at all.
    void wait_lost(lease_handler handler);

    // Under the mutex of the lock table.
    owner_id owner;
    lock_mode mode;
    std::chrono::milliseconds linger{0};
    std::shared_ptr<held_grant> root;  ///< The first lease of the same owner, if that is another.
    std::size_t count = 1;             ///< Of a first lease: how many share it.
    bool linked = false;               ///< Whether it stands in the claim's list.
    held_grant* before = nullptr;
    held_grant* after = nullptr;

private:
    enum class phase : std::uint8_t { live, lost, released };

    const std::shared_ptr<claim> of_;
    const std::shared_ptr<const client_home> home_;
    const fencing_token token_;
    std::atomic<phase> phase_ = phase::live;
    std::atomic<errc> why_ = errc::lease_lost;
    std::atomic<coro::detail::wait_list<>*> waiters_ =
        nullptr;  // owned; made by the first who waits
};

}  // namespace mortise::detail

#endif
