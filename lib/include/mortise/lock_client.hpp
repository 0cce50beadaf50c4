// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_LOCK_CLIENT_HPP
#define MORTISE_LOCK_CLIENT_HPP

#include "mortise/client_stats.hpp"
#include "mortise/lease.hpp"
#include "mortise/lease_set.hpp"
#include "mortise/options.hpp"
#include "mortise/store_types.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/deferred.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise {

class lock_client;
class store;

namespace coro {
class time_source;
}

namespace detail {
class client_core;
std::shared_ptr<coro::time_source> time_of(const lock_client& client) noexcept;
std::shared_ptr<client_core> core_of(const lock_client& client) noexcept;
}  // namespace detail

/// Acquires locks at one store, for one process.
///
/// Holds one session at the store, opened by the first acquire and kept alive by one heartbeat,
/// whatever the number of locks. Runs its own tasks on a strand of its own: there is nothing to
/// start.
///
/// While its session is open, the heartbeat keeps the executor's context busy: `io_context::run`
/// returns after `async_stop`, or after the client was destroyed.
///
/// @par Threads   Any, for all members but assignment and destruction. A client that was moved from
///                may only be assigned to or destroyed.
/// @par Fork      In a child that was forked, all its leases are lost, and whatever it is asked
///                completes with `forked`: make another client there.
/// @par Lifetimes The client may be destroyed while operations are pending: they complete with
///                `client_stopped`, and its leases are lost. The store then frees what it held when
///                it sees the session's end: at once on the same host, else after the TTL. To have
///                it freed before, await `async_stop`.
class lock_client {
public:
    using executor_type = asio::any_io_executor;

    /// @throws error `bad_config`, `ttl_too_short`, `ttl_too_long`, `duration_negative` or
    /// `duration_too_long` if the configuration breaks a limit of its own or of the store, or there
    /// is no store.
    lock_client(
        executor_type executor, std::unique_ptr<store> impl, client_config config = client_config()
    );
    ~lock_client();
    lock_client(lock_client&&) noexcept;
    lock_client& operator=(lock_client&&) noexcept;

    /// The executor given to the constructor: it runs handlers that have none of their own.
    executor_type get_executor() const noexcept;

    /// Acquires `name`, waiting for the present holder for at most `options.wait_max`.
    ///
    /// A waiter sleeps until the store tells it that the lock is its own. Clients are served in the
    /// order of arrival, and so are the waiters of one client; but a client has one place in the
    /// queue of the store, however many of its coroutines wait. At its turn it serves its own
    /// waiters first (`client_config::turn_handoffs_max`), even those that came after waiters of
    /// other clients. Without `local_handoff` it serves one of them, and queues at the end again
    /// for the next.
    ///
    /// While `wait_max` lasts, an outage of a store at a server, or of its replicas, is waited out:
    /// the request is asked again by its id, so it has its effect once. All waiters of a client
    /// together ask again a thousand times a second at most. A store that was never reached is
    /// given up after 10 s. If time runs out in an outage, its code is the error.
    ///
    /// @par Completion   `void(error_code, lease)`; the lease is empty if and only if the code is
    ///                   set.
    /// @par Errors       `busy`, `quarantined`, `client_stopped`, `too_many_waiters`, `forked`, the
    ///                   codes of `check_name` and `check_options`, `unsupported` (a mode that the
    ///                   store does not know), `capacity_differs`, of an owner `upgrade_refused`,
    ///                   `outer_lease_lost` and `too_many_holds`, `operation_aborted`, and the
    ///                   errors of the store.
    /// @par Cancellation terminal, partial, total; all mean the same: on `operation_aborted`
    ///                   nothing is held nor asked for at the store. A signal that comes after the
    ///                   grant was decided has no effect: the lease is delivered. If the store does
    ///                   not answer within `release_budget`, the operation completes and the
    ///                   withdrawal goes on in the background; a request that cannot be settled
    ///                   ends with the session.
    /// @par Threads      Any thread. The handler runs on its associated executor, else on
    ///                   `get_executor()`; never from inside this call.
    /// @par Lifetimes    `name` is copied. The client may be destroyed meanwhile (see above).
    /// @par Cost         One request when uncontended; one request and one push when not; nothing
    ///                   when the lock is passed on inside the process.
    template <class Token = asio::deferred_t>
    auto
    async_acquire(std::string name, lock_options options = lock_options(), Token&& token = Token{});

    /// Acquires `name` if it is free just now. `options.wait_max` is not used.
    ///
    /// @par Completion   `void(error_code, std::optional<lease>)`; busy is not an error: the
    ///                   optional is empty then.
    /// @par Errors       as `async_acquire`, without `busy`; in an outage it fails at once.
    /// @par Cancellation as `async_acquire`.
    /// @par Threads      as `async_acquire`.
    /// @par Lifetimes    as `async_acquire`.
    /// @par Cost         One request, or none if somebody in this process has the lock.
    template <class Token = asio::deferred_t>
    auto async_try_acquire(
        std::string name, lock_options options = lock_options(), Token&& token = Token{}
    );

    /// Acquires all of these locks, or none.
    ///
    /// They are acquired in the order of their bytes, whatever the order of `names` and however
    /// often one occurs, and nothing is asked for behind a lock that is waited for: so two of these
    /// calls cannot wait for each other.
    /// (They can wait for somebody who takes single locks in another order.) `options` is for each
    /// of them; `wait_max` is the time for all together.
    ///
    /// @par Completion   `void(error_code, lease_set)`; at completion all of them were held. The
    ///                   set is empty if and only if the code is set.
    /// @par Errors       as `async_acquire`; `names_missing`; `lease_expired` or `lease_lost` if an
    ///                   early one was lost while the later ones were waited for.
    /// @par Cancellation as `async_acquire`: on `operation_aborted` none is held or asked for.
    /// @par Threads      as `async_acquire`.
    /// @par Lifetimes    as `async_acquire`; `names` is moved.
    /// @par Cost         One request for 64 locks that are free, one more for each lock that has
    ///                   to be waited for, at stores that can (`store_traits::request_in_order`:
    ///                   memory, SQLite, Redis without `min_replicas`); else as that of the single
    ///                   acquires.
    template <class Token = asio::deferred_t>
    auto async_acquire_all(
        std::vector<std::string> names,
        lock_options options = lock_options(),
        Token&& token = Token{}
    );

    /// The locks whose name comes after `after`, in byte order, at most `limit` of them, with their
    /// holders and at most `queue_max` waiters each. Call again with the last name for the next
    /// page.
    ///
    /// @par Completion   `void(error_code, std::vector<lock_view>)`.
    /// @par Errors       `client_stopped`, `forked`, and the errors of the store.
    /// @par Cancellation ignored: it only reads.
    /// @par Threads      as `async_acquire`.
    /// @par Cost         One request. At Redis one for the names of the sessions, one or more for
    ///                   each of them, and one for each 256 locks: a lock that changes hands
    ///                   meanwhile may be missed.
    template <class Token = asio::deferred_t>
    auto async_list(
        std::string after, std::size_t limit, std::size_t queue_max, Token&& token = Token{}
    );

    /// That lock, with its holders and at most `queue_max` of its waiters; empty if nobody holds it
    /// or waits for it.
    ///
    /// It shows clients, as the store knows them: readers of one client that share its grant are
    /// one holder, and however many of its coroutines wait, it is one waiter.
    ///
    /// @par Completion   `void(error_code, std::optional<lock_view>)`.
    /// @par Errors       `client_stopped`, `forked`, and the errors of the store.
    /// @par Cancellation ignored: it is one short read.
    /// @par Threads      as `async_acquire`.
    /// @par Cost         One request.
    template <class Token = asio::deferred_t>
    auto async_inspect(std::string name, std::size_t queue_max, Token&& token = Token{});

    /// Takes a lock from its holder by force, and gives it to the next who waits. For people who
    /// know that the holder is stuck: it goes on until it learns of the loss, and only a fence at
    /// the resource stops it before.
    ///
    /// Breaks the grant with the token that `async_inspect` or `async_list` shows, and nothing if
    /// the lock has passed on meanwhile; of a lock that is held shared, all grants that share the
    /// token. The store records who did it, and `why`; see `async_breaks`.
    ///
    /// @par Completion   `void(error_code, bool)`: whether it was broken.
    /// @par Errors       `client_stopped`, `forked`, and the errors of the store.
    /// @par Cancellation ignored.
    /// @par Threads      as `async_acquire`.
    /// @par Cost         One request.
    template <class Token = asio::deferred_t>
    auto
    async_break(std::string name, fencing_token holder, std::string why, Token&& token = Token{});

    /// Takes a lock by force from all its present holders: `async_inspect`, then `async_break` of
    /// each grant that it shows.
    ///
    /// @par Completion   `void(error_code, bool)`: whether any was broken.
    /// @par Errors       as `async_break`.
    /// @par Cancellation ignored.
    /// @par Threads      as `async_acquire`.
    /// @par Cost         One request, and one for each grant.
    template <class Token = asio::deferred_t>
    auto async_break_holders(std::string name, std::string why, Token&& token = Token{});

    /// Whether somebody holds that lock just now. To act on the answer, acquire the lock instead:
    /// it may have changed before the answer came.
    ///
    /// @par Completion   `void(error_code, bool)`.
    /// @par Errors       as `async_inspect`.
    /// @par Cancellation ignored: it is one short read.
    /// @par Threads      as `async_acquire`.
    /// @par Cost         One request.
    template <class Token = asio::deferred_t>
    auto async_is_locked(std::string name, Token&& token = Token{});

    /// How much longer the store keeps that lock locked if its holders send no further heartbeat:
    /// the longest of its holders' times. Nothing if nobody holds it; `clock::duration::max()` if a
    /// holder has no end, as a key of a client of another make may have none at Redis.
    ///
    /// @par Completion   `void(error_code, std::optional<clock::duration>)`.
    /// @par Errors       as `async_inspect`.
    /// @par Cancellation ignored: it is one short read.
    /// @par Threads      as `async_acquire`.
    /// @par Cost         One request.
    template <class Token = asio::deferred_t>
    auto async_time_left(std::string name, Token&& token = Token{});

    /// The newest records of locks that were broken, at most `limit`, newest first; of all locks if
    /// `name` is empty.
    ///
    /// @par Completion   `void(error_code, std::vector<break_record>)`.
    /// @par Errors       `client_stopped`, `forked`, and the errors of the store.
    /// @par Cancellation ignored.
    /// @par Threads      as `async_acquire`.
    /// @par Cost         One request.
    template <class Token = asio::deferred_t>
    auto async_breaks(std::string name, std::size_t limit, Token&& token = Token{});

    /// Waits until any lock of the store has changed, by whomever. It may also end without a
    /// change, as it does when the session opens that the store needs to tell of changes. To follow
    /// a store: watch, look, and watch again, with the next wait begun before the look.
    ///
    /// @par Completion   `void(error_code)`.
    /// @par Errors       `unsupported`, `client_stopped`, `operation_aborted`, and the errors of
    ///                   the store.
    /// @par Cancellation terminal, partial, total; nothing but the waiting ends.
    /// @par Threads      as `async_acquire`.
    /// @par Cost         One request, and an open session.
    template <class Token = asio::deferred_t>
    auto async_watch(Token&& token = Token{});

    /// Waits until a lock differs from `seen`, and gives its new view: others hold it or wait for
    /// it, or nobody does. It completes at once if the lock differs already, so a loop misses no
    /// change that lasts.
    ///
    /// Pass the view that `async_inspect` or the call before this one gave. It compares the holders
    /// with their tokens, the number of waiters, and the first sixteen of them as far as `seen` has
    /// them; it does not compare ages.
    ///
    /// @par Completion   `void(error_code, std::optional<lock_view>)`: as `async_inspect`.
    /// @par Errors       as `async_watch` and `async_inspect`.
    /// @par Cancellation terminal, partial, total; nothing but the waiting ends.
    /// @par Threads      as `async_acquire`.
    /// @par Lifetimes    The arguments are copied.
    /// @par Cost         An open session, and two requests for each change of any lock of the
    ///                   store.
    template <class Token = asio::deferred_t>
    auto
    async_wait_changed(std::string name, std::optional<lock_view> seen, Token&& token = Token{});

    /// Examines whether the conditions hold on which the store's promises depend.
    ///
    /// @par Completion   `void(error_code, std::vector<store_finding>)`.
    /// @par Errors       `client_stopped`, `forked`, and the errors of the store.
    /// @par Cancellation ignored.
    /// @par Threads      as `async_acquire`.
    /// @par Cost         May take a second.
    template <class Token = asio::deferred_t>
    auto async_examine(Token&& token = Token{});

    /// Stops: refuses new acquires, completes waiting ones with `client_stopped`, releases every
    /// lease and ends the session at the store. Leases are lost from the call on.
    ///
    /// @par Completion   `void(error_code)`: a code if the store did not acknowledge the end within
    ///                   `release_budget`.
    /// @par Errors       `outcome_unknown`: not acknowledged, the session ends by its TTL;
    ///                   `forked`: this is a child process, and nothing was done.
    /// @par Cancellation ignored.
    /// @par Threads      as `async_acquire`.
    /// @par Cost         One request.
    template <class Token = asio::deferred_t>
    auto async_stop(Token&& token = Token{});

    /// A snapshot of the counters.
    client_stats stats() const noexcept;

    /// The abilities of the store: until the first session is open, as far as they are known
    /// without asking a server; from then on as the server has told. Any thread.
    store_traits traits() const noexcept;

    /// The store's text on its newest failure, for people; may be empty.
    std::string explain() const;

private:
    friend std::shared_ptr<coro::time_source> detail::time_of(const lock_client& client) noexcept;
    friend std::shared_ptr<detail::client_core> detail::core_of(const lock_client&) noexcept;

    std::shared_ptr<detail::client_core> core_;
};

}  // namespace mortise

#include "mortise/impl/lock_client.hpp"

#endif
