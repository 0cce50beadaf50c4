// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_PARTICIPANT_HPP
#define MORTISE_TXN_PARTICIPANT_HPP

#include "mortise/error.hpp"
#include "mortise/txn/call.hpp"
#include "mortise/txn/prepared_branch.hpp"
#include "mortise/txn/reply.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mortise::txn {

namespace asio = boost::asio;

/// The port between a coordinator and the participants of its transactions.
///
/// Each call comes at least once. Several calls of one branch may come at the same time, and a
/// cancel may overtake its try. Participants with a database use `barrier` against all three.
///
/// @par Threads   Calls come from the coordinator's executor, several at a time.
/// @par Lifetimes It lives as long as the coordinator.
class participant {
public:
    participant() = default;
    participant(const participant&) = delete;
    participant& operator=(const participant&) = delete;
    virtual ~participant() = default;

    /// Carries out one call. An error, or an exception, means that the effect is unknown: the call
    /// is repeated. The errors of a barrier are answers, and are not.
    /// A call that takes too long is cancelled (terminal), and repeated.
    virtual asio::awaitable<result<reply>> carry_out(call call) = 0;

    /// The number of calls that it can work on at a time. Further calls wait at the coordinator,
    /// where the wait does not count as time of the call.
    virtual std::size_t calls_at_once() const noexcept { return 256; }

    /// Whether it can do a branch with this closure; null: one that has a payload only.
    virtual bool accepts(const branch_work* work) const noexcept { return work == nullptr; }

    /// Whether it commits a branch that is the only one of its transaction in its try, and can say
    /// later whether it has: see `call::one_phase`.
    virtual bool commits_alone() const noexcept { return false; }

    /// Whether its branches are transactions that stay prepared at a database. Then the coordinator
    /// asks it from time to time which ones are.
    virtual bool prepares() const noexcept { return false; }

    /// Lists the branches of a log that are prepared at its database, those of other participants
    /// at the same database included. Only if `prepares()`.
    virtual asio::awaitable<result<std::vector<prepared_branch>>> list_prepared(std::uint64_t log);
};

}  // namespace mortise::txn

#endif
