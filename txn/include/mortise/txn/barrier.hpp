// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_BARRIER_HPP
#define MORTISE_TXN_BARRIER_HPP

#include "mortise/db/connection.hpp"
#include "mortise/error.hpp"
#include "mortise/txn/call.hpp"
#include "mortise/txn/reply.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace mortise::txn {

/// Makes the three calls of a branch safe to repeat, to delay and to reorder, for participants
/// whose state is in an SQLite database. It keeps one row per branch, written in the same
/// transaction as the effect.
///
/// | call | no row | tried | confirmed | cancelled | refused |
/// | --- | --- | --- | --- | --- | --- |
/// | try | work | stored reply | stored reply | `late_try` | stored reply |
/// | confirm | `unknown_branch` | work | stored reply | `conflict` | `conflict` |
/// | cancel | done, without work | work | `conflict` | stored reply | done, without work |
///
/// A cancel without a try leaves a row, which refuses the try that comes later. Calls of a replaced
/// coordinator, and calls that only an old copy of a log can make, are answered with the evidence
/// (`reply::ahead`). A try with a token below the highest seen for the same lock is refused
/// (`stale_token`).
///
/// Rows are forgotten without your help: each call says which transactions have ended, and the
/// barrier checks a few old rows on each. A late call of a forgotten branch is still refused, or
/// answered as done.
///
/// Tables: `mortise_txn_branch` and `mortise_txn_ends`, and for locks those of `sqlite_fence`, made
/// on first use. `sqlite_participant` contains a barrier.
///
/// @par Errors    Besides the errors that they return, members throw `error` with the code of
///                SQLite (`sqlite_category`): roll back then.
/// @par Threads   As the connection: one at a time.
/// @par Cost      Three small statements besides the work; a try under locks adds one for each
///                lock.
class barrier {
public:
    /// Checks the call and, if its work must be done, runs `work()`, which returns a `reply`. If
    /// the reply is `done`, the branch has changed. Else the writes of the work are undone, and
    /// only the refusal of a try is stored. Exceptions of the work pass through: roll back then.
    ///
    /// A transaction must be open on the connection, as in a closure of `db::sqlite`. Send the
    /// reply only after the commit.
    ///
    /// A call passes once. A second `pass` of it in the same database counts as a repetition: it
    /// gets the reply of the first, and its work is not done. If one call has two effects, do both
    /// in one `work`, or make them two branches.
    ///
    /// @return the reply to send; an error means that the call was not and will not be done.
    /// @par Errors `late_try`, `unknown_branch`, `conflict`, and of `mortise::errc`
    ///     `no_transaction`, `stale_token`, `foreign_domain`, `no_token`.
    template <class Work>
        requires std::is_invocable_r_v<reply, Work&>
    static result<reply> pass(db::connection& on, const call& call, Work&& work) {
        const auto ended_below = begin(on, call);
        if (!ended_below)
            return ended_below.error();
        auto known = judge(on, call, *ended_below);
        if (!known) {
            end(on, false);
            return known.error();
        }
        if (*known) {
            end(on, true);
            return std::move(**known);
        }
        reply answer = std::forward<Work>(work)();
        end(on, answer.type == reply::verdict::done);
        remember(on, call, answer);
        return answer;
    }

    /// A reservation whose time is up, and of which no confirm or cancel has come.
    class overdue_branch {
    public:
        overdue_branch() = default;  // declared: no aggregate (docs/compilers.md, G3)

        txn::gid gid;
        std::uint32_t branch = 0;
        std::string participant;
        std::chrono::milliseconds since{0};  ///< By the wall clock.
    };

    /// Lists the overdue reservations, the oldest first, at most `limit`. Ask their coordinator,
    /// which then finishes them: the barrier gives nothing back on a guess.
    static std::vector<overdue_branch> overdue(db::connection& on, std::size_t limit);

    /// Gives an overdue reservation back by this participant's own decision, for participants that
    /// cannot keep it until the coordinator can be reached again. `work()` is that of a cancel.
    ///
    /// The decision may be wrong. If the transaction is confirmed, the participant refuses the
    /// confirm (`conflict`), and the branch is stuck until a person repairs the damage. Let an
    /// `overdue_sweeper` ask first.
    ///
    /// @return the reply of the work, or the stored reply of an earlier one.
    /// @par Errors `unknown_branch`: nothing is reserved; `conflict`: the branch is confirmed;
    ///             `mortise::errc::no_transaction`.
    template <class Work>
        requires std::is_invocable_r_v<reply, Work&>
    static result<reply> give_back(db::connection& on, const overdue_branch& branch, Work&& work) {
        const auto own = own_cancel(on, branch);
        if (!own)
            return own.error();
        return pass(on, *own, std::forward<Work>(work));
    }

    /// Returns the time until the next reservation becomes overdue; empty if none will.
    static std::optional<std::chrono::milliseconds> next_overdue(db::connection& on);

    /// Forgets branches of transactions that are known to have ended, at most `limit`, at once: for
    /// a participant that gets no further calls.
    /// @return how many were forgotten.
    static std::size_t purge(db::connection& on, std::size_t limit);

private:
    /// @return the number below which all transactions of the participant have ended.
    static result<std::uint64_t> begin(db::connection& on, const call& call);
    static void end(db::connection& on, bool keep);
    /// @return the reply that needs no work; empty if the work must be done.
    static result<std::optional<reply>>
    judge(db::connection& on, const call& call, std::uint64_t ended_below);
    static result<call> own_cancel(db::connection& on, const overdue_branch& branch);
    static void remember(db::connection& on, const call& call, const reply& answer);
};

}  // namespace mortise::txn

#endif
