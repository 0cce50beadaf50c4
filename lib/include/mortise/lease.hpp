// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_LEASE_HPP
#define MORTISE_LEASE_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/initiate.hpp"
#include "mortise/error.hpp"
#include "mortise/fencing_token.hpp"
#include "mortise/lease_view.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

namespace mortise {

class lease;
class lease_set;

namespace detail {
class held_grant;
void start_release(coro::detail::completion<void(error_code)> handler, lease held);
}  // namespace detail

enum class lease_state : std::uint8_t {
    held,      ///< The store's last proof still covers this moment.
    unsure,    ///< The proof no longer covers it; a heartbeat may prove the lease again.
    lost,      ///< The store gave the lock away, or will: never `held` again.
    released,  ///< Released, moved from, or never acquired.
};

const char* to_string(lease_state state) noexcept;

/// The right to one lock until `valid_until()`, renewed in the background by the heartbeat of its
/// client.
///
/// There are three ways to let go, the best first: `with_lock` (the release is awaited and the work
/// is stopped when the lease is lost), `co_await lease.async_release()`, and the destructor, which
/// hands the release to the client and returns at once. If the client is gone, the store frees the
/// lock by itself when the session's TTL has passed, or sooner.
///
/// After any pause (a stopped process, a suspended machine) the first `state()`, `check()` or
/// `guard` tells the truth by reading the clock, even before any timer could run.
///
/// @par Threads   A lease is not thread-safe; distinct leases of one client are.
/// @par Lifetimes A lease may outlive its client; it is then lost. In a forked child every lease is
///                lost and its destructor does nothing.
class [[nodiscard]] lease {
public:
    lease() noexcept = default;
    explicit lease(std::shared_ptr<detail::held_grant> grant) noexcept;
    lease(lease&& other) noexcept = default;
    lease& operator=(lease&& other) noexcept;  ///< First lets go of what `*this` holds.
    ~lease();

    /// Whether this came from an acquire and was not released: says nothing about a loss.
    explicit operator bool() const noexcept;

    /// Valid as long as this object has the lease.
    std::string_view name() const noexcept;
    /// Empty if the store gives none (`token_strength::absent`): a fence then says `no_token`.
    fencing_token token() const noexcept;

    /// The slot of a permit, from 1 to the capacity; zero for other modes. Each slot of a lock has
    /// a token domain of its own, because two of them can be held at the same time.
    std::uint32_t slot() const noexcept;

    /// Whether somebody else waits for the lock, in this process or, as far as is known, elsewhere:
    /// a holder that can do its work in parts may let go between two of them.
    bool contended() const noexcept;

    lease_state state() const noexcept;
    bool held() const noexcept { return state() == lease_state::held; }

    /// No error while held; else `lease_expired` (unsure, or after `hold_max`), `lease_lost`,
    /// `lease_released`, `client_stopped`; `forked` in a child.
    error_code check() const noexcept;

    /// A view for code that needs to know of the lock but does not release it.
    lease_view view() const noexcept;

    /// Until when the lease is sure to be held, if no further heartbeat succeeds; the clock's
    /// minimum once it is lost or released.
    clock::time_point valid_until() const noexcept;

    /// How long ago the last heartbeat was sent that proved the lease; the maximum once it is lost
    /// or released.
    clock::duration verified_ago() const noexcept;

    /// Runs `op` if the lease is held, and gives its result if the lease was held all the time
    /// until its end.
    ///
    /// Use it for each effect that must not happen without the lock; it reads the clock, so that it
    /// refuses after a pause that no timer could report. It does not stop `op` in the middle
    /// (`with_lock` does), and an effect that took place is not undone: only a fence at the
    /// resource makes a late write impossible.
    ///
    /// @par Errors       throws `system_error` with the code of `check()`; else what `op` throws.
    /// @par Cancellation that of `op`.
    /// @par Threads      As the object.
    /// @par Lifetimes    The lease must live until the result is awaited; then it may be moved or
    ///                   destroyed. One that was destroyed counts as released.
    template <class T>
    asio::awaitable<T> guard(asio::awaitable<T> op) const;

    /// Releases the lock and waits until the store has acknowledged it.
    ///
    /// @par Completion   `void(error_code)`. Afterwards the lease is `released` whatever the code.
    /// @par Errors       the code of `check()` if it was lost or released, or in a forked child;
    ///                   `lease_lost` if the store had given the lock away before;
    ///                   `outcome_unknown` if the store did not answer within `release_budget`: the
    ///                   release is then still tried later.
    /// @par Cancellation ignored: a release is never left half done.
    /// @par Threads      As the object. The handler runs on its associated executor, never from
    ///                   inside this call.
    /// @par Lifetimes    The lease is empty after this call. If the operation is never started, the
    ///                   release is handed to the client, as by the destructor.
    /// @par Cost         One request; the store's answer to it also names the next holder.
    template <class Token = asio::deferred_t>
    auto async_release(Token&& token = Token{});

    /// Sets anew when the lease ends by its `lock_options::hold_max`: `hold_max` from now, sooner
    /// or later than before. `milliseconds::max()` lets it last as long as heartbeats keep it.
    /// Calls take effect in their order.
    ///
    /// Call it in time, before `async_wait_lost` completes: a body of `with_lock` that is being
    /// stopped already stays so.
    ///
    /// A reentrant lease has an end of its own, which the store does not know; it still ends with
    /// the grant that all leases of its owner share, which only the outermost of them extends.
    ///
    /// @par Completion   `void(error_code)`: no code once the store has changed it; `valid_until()`
    ///                   then says until when the lease is sure.
    /// @par Errors       the code of `check()` if it is not held, or was lost meanwhile; `forked`
    ///                   in a child; `bad_config`, `duration_negative` or `duration_too_long` as
    ///                   for `lock_options::hold_max`; `unsupported` if the lock was acquired
    ///                   without `hold_max`, or the store cannot do it (`store_traits::extend`);
    ///                   `store_unavailable` or `outcome_unknown` if the store did not do it, or
    ///                   did not say: the lease then ends at the earlier of both times, and may be
    ///                   extended again.
    /// @par Cancellation ignored: the store's answer decides.
    /// @par Threads      As the object. The handler runs on its associated executor, never from
    ///                   inside this call.
    /// @par Cost         One request; none for a reentrant lease.
    template <class Token = asio::deferred_t>
    auto async_extend(std::chrono::milliseconds hold_max, Token&& token = Token{}) const;

    /// Waits until the lease is about to be lost (`stop_margin` before `valid_until()`, if
    /// heartbeats fail) or is lost.
    ///
    /// @par Completion   `void(error_code)`: always a code: `lease_expired` before the end of the
    ///                   window, `lease_lost` when the store says so, `lease_released` after a
    ///                   release or of an empty lease, `client_stopped`; `operation_aborted`.
    /// @par Cancellation terminal, partial, total; nothing but the waiting ends.
    /// @par Threads      As the object. The handler runs on its associated executor, never from
    ///                   inside this call.
    /// @par Cost         None at the store.
    template <class Token = asio::deferred_t>
    auto async_wait_lost(Token&& token = Token{});

    /// Waits until somebody else waits for the lock, in this process or elsewhere (`contended()`):
    /// at once if that is so already.
    ///
    /// @par Completion   `void(error_code)`: no code when somebody waits.
    /// @par Errors       the code of `async_wait_lost` if that comes first; `forked` in a child;
    ///                   `operation_aborted`.
    /// @par Cancellation terminal, partial, total; nothing but the waiting ends.
    /// @par Threads      As the object. The handler runs on its associated executor, never from
    ///                   inside this call.
    /// @par Cost         None at the store.
    template <class Token = asio::deferred_t>
    auto async_wait_contended(Token&& token = Token{});

private:
    friend class lease_set;
    friend void detail::start_release(coro::detail::completion<void(error_code)>, lease);

    void let_go() noexcept;
    static void require_held(const std::shared_ptr<detail::held_grant>& grant);

    std::shared_ptr<detail::held_grant> grant_;
};

namespace detail {

using lease_handler = coro::detail::completion<void(error_code)>;

void start_wait_lost(lease_handler handler, std::shared_ptr<held_grant> grant);
void start_wait_contended(lease_handler handler, std::shared_ptr<held_grant> grant);
void start_extend(
    lease_handler handler, std::shared_ptr<held_grant> grant, std::chrono::milliseconds hold_max
);
asio::any_io_executor executor_of(const std::shared_ptr<held_grant>& grant) noexcept;

}  // namespace detail

template <class Token>
auto lease::async_release(Token&& token) {
    // The lease moves into the operation: an operation that is never started destroys the lease,
    // and thereby releases it.
    auto executor = detail::executor_of(grant_);
    return coro::detail::async_start<void(error_code)>(
        std::move(executor), std::forward<Token>(token), &detail::start_release, std::move(*this)
    );
}

template <class Token>
auto lease::async_wait_lost(Token&& token) {
    return coro::detail::async_start<void(error_code)>(
        detail::executor_of(grant_), std::forward<Token>(token), &detail::start_wait_lost, grant_
    );
}

template <class Token>
auto lease::async_wait_contended(Token&& token) {
    return coro::detail::async_start<void(error_code)>(
        detail::executor_of(grant_),
        std::forward<Token>(token),
        &detail::start_wait_contended,
        grant_
    );
}

template <class Token>
auto lease::async_extend(std::chrono::milliseconds hold_max, Token&& token) const {
    return coro::detail::async_start<void(error_code)>(
        detail::executor_of(grant_),
        std::forward<Token>(token),
        &detail::start_extend,
        grant_,
        hold_max
    );
}

template <class T>
asio::awaitable<T> lease::guard(asio::awaitable<T> op) const {
    const auto kept = grant_;  // the lease object may be moved or destroyed while `op` runs
    require_held(kept);
    if constexpr (std::is_void_v<T>) {
        co_await std::move(op);
        require_held(kept);
    } else {
        T value = co_await std::move(op);
        require_held(kept);
        co_return value;
    }
}

}  // namespace mortise

#endif
