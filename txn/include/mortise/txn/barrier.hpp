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

/// What makes the three calls of a branch safe to repeat, to delay and to reorder, for participants
/// whose state is in an SQLite database: one row per branch, written in the same transaction as the
/// effect.
///
/// | call | no row | tried | confirmed | cancelled | refused |
/// | --- | --- | --- | --- | --- | --- |
/// | try | work | stored reply | stored reply | `late_try` | stored reply |
/// | confirm | `unknown_branch` | work | stored reply | `conflict` | `conflict` |
/// | cancel | done, without work | work | `conflict` | stored reply | done, without work |
///
/// A cancel without a try leaves a row, so that the try, when it comes, is refused. Calls of a
/// coordinator that was replaced, and calls that only the old copy of a log can make, are answered
/// by what was seen (`reply::ahead`). Tries with a token below one that was seen for the same lock
/// are refused (`stale_token`).
///
/// Rows are forgotten by themselves: each call brings word of what has ended, and looks at a few
/// old ones. A late call of what is forgotten is refused, or answered as done, all the same.
///
/// Tables `mortise_txn_branch` and `mortise_txn_ends`, and for locks those of `sqlite_fence`, made
/// on first use. `sqlite_participant` does all this by itself.
///
/// @par Errors    Besides those that are returned, members throw `error` with the code of SQLite
///                (`sqlite_category`): roll back then.
/// @par Threads   As the connection: one at a time.
/// @par Cost      Three small statements more than the work; a try under locks one more for each.
class barrier {
public:
    /// Judges the call and, if its work is to be done, calls `work()`, which returns a `reply`. If
    /// that is `done` the branch has changed; else what the work wrote is undone, and only the
    /// refusal of a try is remembered. What the work throws is passed on: roll back then.
    ///
    /// A transaction must be open on the connection, as in a closure of `db::sqlite`. Send the
    /// reply when it has been committed.
    ///
    /// A call passes once: a second `pass` of it in the same database is a repetition, gets the
    /// reply of the first, and its work is not done. Who has two things to do for one call does
    /// both in one `work`, or takes part with two branches.
    ///
    /// @return the reply to send; an error means that the call was not and will not be done.
    /// @par Errors `late_try`, `unknown_branch`, `conflict`, and of `mortise::errc`
    ///     `no_transaction`, `stale_token`, `foreign_domain`, `no_token`.
    template <class Work>
        requires std::is_invocable_r_v<reply, Work&>
    static result<reply> pass(db::connection& on, const call& what, Work&& work) {
        const auto ended_below = begin(on, what);
        if (!ended_below)
            return ended_below.error();
        auto known = judge(on, what, *ended_below);
        if (!known) {
            end(on, false);
            return known.error();
        }
        if (*known) {
            end(on, true);
            return std::move(**known);
        }
        reply answer = std::forward<Work>(work)();
        end(on, answer.what == reply::verdict::done);
        remember(on, what, answer);
        return answer;
    }

    /// A reservation whose time is up, and nobody has said what became of it.
    class overdue_branch {
    public:
        overdue_branch() = default;  // declared: no aggregate (docs/compilers.md, G3)

        txn::gid gid;
        std::uint32_t branch = 0;
        std::string participant;
        std::chrono::milliseconds since{0};  ///< By the wall clock.
    };

    /// The reservations that are overdue, the oldest first, at most `limit`. Ask their coordinator,
    /// which then finishes them: by itself nothing is given back on a guess.
    static std::vector<overdue_branch> overdue(db::connection& on, std::size_t limit);

    /// Gives an overdue reservation back by this participant's own decision, for whoever must not
    /// keep it until its coordinator can be reached again. `work()` as for a cancel.
    ///
    /// The decision may be wrong. If the transaction is confirmed its confirm is refused
    /// (`conflict`) and stands at the coordinator as stuck, for a person to make it good. Have an
    /// `overdue_sweeper` ask first.
    ///
    /// @return what the work answered, or had answered before.
    /// @par Errors `unknown_branch`: nothing is reserved; `conflict`: it is confirmed;
    ///             `mortise::errc::no_transaction`.
    template <class Work>
        requires std::is_invocable_r_v<reply, Work&>
    static result<reply> give_back(db::connection& on, const overdue_branch& which, Work&& work) {
        const auto own = own_cancel(on, which);
        if (!own)
            return own.error();
        return pass(on, *own, std::forward<Work>(work));
    }

    /// How long until the next reservation becomes overdue, of those that are not; nothing if there
    /// are none.
    static std::optional<std::chrono::milliseconds> next_overdue(db::connection& on);

    /// Forgets branches of transactions that are known to have ended, at most `limit`, at once: for
    /// a participant that gets no calls any more.
    /// @return how many were forgotten.
    static std::size_t purge(db::connection& on, std::size_t limit);

private:
    /// @return the number below which the participant's transactions are over.
    static result<std::uint64_t> begin(db::connection& on, const call& what);
    static void end(db::connection& on, bool keep);
    /// What is to be answered without the work; nothing if the work is to be done.
    static result<std::optional<reply>>
    judge(db::connection& on, const call& what, std::uint64_t ended_below);
    static result<call> own_cancel(db::connection& on, const overdue_branch& which);
    static void remember(db::connection& on, const call& what, const reply& answer);
};

}  // namespace mortise::txn

#endif
