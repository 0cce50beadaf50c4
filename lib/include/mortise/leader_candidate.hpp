// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_LEADER_CANDIDATE_HPP
#define MORTISE_LEADER_CANDIDATE_HPP

#include "mortise/coro/detail/initiate.hpp"
#include "mortise/election.hpp"
#include "mortise/fencing_token.hpp"
#include "mortise/lease_view.hpp"
#include "mortise/lock_client.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/deferred.hpp>

#include <memory>
#include <string>
#include <utility>

namespace mortise {

namespace detail {

class candidacy;
using candidacy_ptr = std::shared_ptr<candidacy>;

void start_wait_elected(
    coro::detail::completion<void(error_code, lease_view)> handler, candidacy_ptr candidate
);
void start_wait_deposed(
    coro::detail::completion<void(error_code)> handler, candidacy_ptr candidate
);
void start_resign(coro::detail::completion<void(error_code)> handler, candidacy_ptr candidate);

}  // namespace detail

/// Stands for election in the background, from its construction until it resigns. It is for a
/// program that asks whether it leads; `lead` instead calls a function while it leads.
///
/// The leader is the holder of the lock `name`. When the leadership is about to be lost, the lease
/// is given back, and the candidate stands again after a pause. That stops no work: code that works
/// as the leader must ask `leads()`, await `async_wait_deposed`, and write with the token of its
/// term.
///
/// @par Threads      Any, for all members but assignment and destruction.
/// @par Lifetimes    Destroying it resigns in the background. The client may end before it: then it
///                   is no longer a candidate.
class leader_candidate {
public:
    /// Begins to stand. @throws error `bad_config` if the pauses break their limits.
    leader_candidate(
        lock_client& client, std::string name, election_options options = election_options()
    );
    ~leader_candidate();
    leader_candidate(leader_candidate&&) noexcept = default;
    leader_candidate& operator=(leader_candidate&& other) noexcept;

    /// Whether it leads, surely, at this moment: reads the clock, as `lease::check`.
    bool leads() const noexcept { return !term().check(); }

    /// The lease of the present term; an empty view if it does not lead.
    lease_view term() const;
    /// The token of the term: it tells one term from the next, and belongs into all that the leader
    /// writes. Empty if it does not lead.
    fencing_token token() const { return term().token(); }

    /// Waits until it leads: at once if it does.
    ///
    /// @par Completion   `void(error_code, lease_view)`: the lease of the term.
    /// @par Errors       `lease_released` after it has resigned; `operation_aborted`; or why it no
    ///                   longer stands: `client_stopped`, `forked`, and the codes that end `lead`,
    ///                   too.
    /// @par Cancellation terminal, partial, total; nothing but the waiting ends.
    /// @par Threads      Any. The handler runs on its associated executor, else on the client's;
    ///                   never from inside this call.
    /// @par Lifetimes    The object may be destroyed meanwhile: that is a resignation.
    /// @par Cost         None at the store.
    template <class Token = asio::deferred_t>
    auto async_wait_elected(Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code, lease_view)>(
            executor(), std::forward<Token>(token), &detail::start_wait_elected, candidacy_
        );
    }

    /// Waits until it no longer leads, or is about to lose the leadership: at once if it does not
    /// lead.
    ///
    /// @par Completion   `void(error_code)`: always a code: as `lease::async_wait_lost`;
    ///                   `lease_released` if it has resigned, or did not lead.
    /// @par Cancellation terminal, partial, total; nothing but the waiting ends.
    /// @par Threads      as `async_wait_elected`.
    /// @par Lifetimes    as `async_wait_elected`.
    /// @par Cost         None at the store.
    template <class Token = asio::deferred_t>
    auto async_wait_deposed(Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code)>(
            executor(), std::forward<Token>(token), &detail::start_wait_deposed, candidacy_
        );
    }

    /// Gives up the leadership, if it has it, and stands no longer. To stand again, make another
    /// candidate: it queues behind those that wait.
    ///
    /// @par Completion   `void(error_code)`: when nothing of it is left at the store.
    /// @par Errors       as `lease::async_release`, if it led. Not an error: to have resigned
    ///                   before.
    /// @par Cancellation ignored.
    /// @par Threads      as `async_wait_elected`.
    /// @par Lifetimes    as `async_wait_elected`.
    /// @par Cost         One request.
    template <class Token = asio::deferred_t>
    auto async_resign(Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code)>(
            executor(), std::forward<Token>(token), &detail::start_resign, candidacy_
        );
    }

private:
    asio::any_io_executor executor() const noexcept;

    detail::candidacy_ptr candidacy_;
};

}  // namespace mortise

#endif
