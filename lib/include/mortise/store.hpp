// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_HPP
#define MORTISE_STORE_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/error.hpp"
#include "mortise/fencing_token.hpp"
#include "mortise/lock_mode.hpp"
#include "mortise/store_types.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise {

namespace coro {
class time_source;
}

/// Receives the events of a store. Called on the executor given to `store::attach`, never from
/// inside a call of the port, and never after `store::detach` has returned.
class store_events {
public:
    virtual void on_store_event(const store_event& event) noexcept = 0;

protected:
    ~store_events() = default;
};

/// The port between `lock_client` and the place where locks live.
///
/// One object serves one client, and for each proof number one session at a time: most stores have
/// the number 0 only. What a session has asked for and what it keeps is lost with it; the sessions
/// of other numbers are not concerned. All calls come from the client's strand
/// and complete there; several may be under way at once, and those that change one lock take effect
/// in the order of the calls; those of several locks in any order. No call is ever cancelled: the
/// client waits for the answer and undoes what it no longer wants. An error means that the outcome
/// is unknown, unless the code says otherwise.
///
/// Nothing here throws, except `bad_alloc`.
///
/// The rules that every store keeps:
/// * Every operation after which somebody may get a lock ends with the same *advance*: grant the
///   requests that mode and order allow, remove those of sessions that are gone, skip those that
///   cannot be reached just now.
/// * A dead session is found by its deadline, never by polling: a heartbeat reaps sessions and
///   grants that have expired, and returns the time to the next deadline.
/// * A session that is gone is never revived, and its id is never used again.
/// * No event is needed for correctness: the next heartbeat, whose change number then differs, and
///   a `look` make up for a lost one.
class store {
public:
    virtual ~store() = default;
    store() = default;
    store(const store&) = delete;
    store& operator=(const store&) = delete;

    /// The abilities of this store: before `attach` and until the first `resume` has succeeded, as
    /// far as they are known without asking; from then on as the server has told. The client reads
    /// them again after each `resume`.
    virtual store_traits traits() const noexcept = 0;

    /// Binds the store to its client. Called once, before anything else; does no I/O.
    virtual void attach(
        asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
    ) = 0;

    /// Unbinds the store: no event comes afterwards. Does not block and sends nothing: the store
    /// frees the grants of the session by its own means (its TTL, or sooner where a closed
    /// connection is proof enough).
    virtual void detach() noexcept = 0;

    /// The number of the session that asks for this lock. The grant names the number that keeps it:
    /// the same one, unless that depends on which servers granted it. The same for a name always.
    /// Any thread.
    virtual proof_number number_of(std::string_view /*name*/) const noexcept { return 0; }

    /// Opens the connection or the file, and makes the session known (generation 1), or proves it
    /// again after a lost connection (a higher one). From then on the store refuses calls with a
    /// lower generation.
    /// @par Errors `session_lost` if the session existed and is gone; `ttl_too_short` or
    /// `ttl_too_long` if the server turns out to keep no session with that TTL.
    virtual asio::awaitable<result<resumed>> resume(session_start start) = 0;

    /// Ends the sessions of all numbers: they hold nothing from the moment at which the store hears
    /// it, and when this completes, all that they held is released and all that they asked for is
    /// withdrawn. Others may come in between, and find each lock free or not yet.
    virtual asio::awaitable<error_code> end() = 0;

    /// Asks for a lock. Idempotent by `request.id`: asking again returns the same answer. An id
    /// belongs to one request, and so to one lock.
    /// @par Errors `database_busy`: nothing was done, and nothing has to be undone.
    virtual asio::awaitable<result<answer>> request(lock_request request) = 0;

    /// Makes these requests, each for another lock, in their order, and stops behind the first that
    /// is not granted. @return as many outcomes as there were requests made, each as its own call
    /// would report it. One command or transaction if the traits say so. Otherwise one call after
    /// the other.
    /// @par Errors as `request`, of the whole: then each of them may have been made.
    virtual asio::awaitable<result<answers_in_order>>
    request_in_order(std::vector<lock_request> requests);

    /// Afterwards nothing of the request exists at the store, whether it was queued, granted or
    /// never arrived. Succeeds if there was nothing.
    /// @par Errors `database_busy`: nothing was done, and nobody else can change a lock just now.
    virtual asio::awaitable<error_code> withdraw(std::string name, request_id id) = 0;

    /// Frees the lock if it is held by this grant, compared by id and token, and advances the
    /// queue. Frees nothing else. @return whether the grant was still there.
    /// @par Errors as `withdraw`.
    virtual asio::awaitable<result<bool>> release(grant held) = 0;

    /// `release`, and then `request` for the same lock by the same session. One command or
    /// transaction if the traits say so: then a grant that the release gives is told as contended
    /// already, or soon after. Otherwise the two calls, one after the other.
    virtual asio::awaitable<released_and_asked>
    release_and_request(grant held, lock_request request);

    /// Proves, by a write, that the session of that number and its grants live at the store; reaps
    /// sessions and grants that have expired, or as many of them as do not hold others up: then
    /// `next_deadline` is at once.
    /// @par Errors `session_lost` if the session is gone; anything else proves nothing.
    virtual asio::awaitable<result<heartbeat>> beat(proof_number number) = 0;

    /// Everything that the store holds for the session of that number: the requests that were asked
    /// under it, granted or not, and the grants that it keeps; with the change number that belongs
    /// to it.
    virtual asio::awaitable<result<session_view>> look(proof_number number) = 0;

    /// Draws more tokens for a grant that is held: above every token of its lock that was drawn
    /// before, and below every one of it that is drawn later. The tokens that the grant had so far
    /// stay valid. The release still names the token that the grant came with.
    /// @par Errors `lease_lost` if the grant is not there; then nothing was drawn.
    virtual asio::awaitable<result<token_range>> draw(grant held) = 0;

    /// Sets anew when a grant ends by itself: when the store has kept it for another `hold_max`,
    /// counted from this change; never, for the maximum.
    /// @return for how long it keeps the grant now, counted from its beginning.
    /// @par Errors `lease_lost` if the grant is not there or has ended; `unsupported` unless the
    /// traits have `extend`: then nothing was changed.
    virtual asio::awaitable<result<std::chrono::milliseconds>>
    extend(grant held, std::chrono::milliseconds hold_max);

    /// The locks whose name comes after `after`, in byte order, at most `limit` of them, and with
    /// each at most `queue_max` of its waiters. Here and in `inspect`, sessions that are dead by
    /// their deadline and grants that have ended are not shown, whether or not a heartbeat has
    /// reaped them.
    virtual asio::awaitable<result<std::vector<lock_view>>>
    list(std::string after, std::size_t limit, std::size_t queue_max) = 0;

    /// That lock, with at most `queue_max` of its waiters; empty if nobody holds it or waits.
    virtual asio::awaitable<result<std::optional<lock_view>>>
    inspect(std::string name, std::size_t queue_max) = 0;

    /// Takes the lock away from its holder, which learns of it by `look_again`, and advances the
    /// queue. Only grants with that token are broken (several, if they share it): the lock may have
    /// passed on meanwhile. Recorded in the same step.
    /// @return whether it was broken.
    virtual asio::awaitable<result<bool>> break_(break_order order) = 0;

    /// The newest records of locks that were broken, newest first; of all locks if the name is
    /// empty. A store keeps at least the last thousand.
    /// @par Errors `unsupported` where the store keeps none.
    virtual asio::awaitable<result<std::vector<break_record>>>
    breaks(std::string name, std::size_t limit);

    /// Asks for one event `changed` at the next change of any lock; call again after it. Needs the
    /// session of the number 0.
    /// @par Errors `unsupported` where the store cannot tell.
    virtual asio::awaitable<error_code> watch();

    /// Examines whether the conditions hold on which the store's promises depend. May take a
    /// second, and writes nothing but files of its own that it removes again.
    virtual asio::awaitable<result<std::vector<store_finding>>> examine() = 0;

    /// The store's text on its newest failure, for people; may be empty. Any thread.
    virtual std::string explain() const { return {}; }
};

}  // namespace mortise

#endif
