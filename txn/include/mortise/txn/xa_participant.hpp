// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_XA_PARTICIPANT_HPP
#define MORTISE_TXN_XA_PARTICIPANT_HPP

#include "mortise/txn/participant.hpp"
#include "mortise/txn/resource_manager.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace mortise::coro {
class time_source;
}

namespace mortise::txn {

namespace detail {
class note_keeper;
}

/// The name under which the transaction of a branch is prepared: `mortise:` and the id of the
/// transaction; the term in which it began, and the number of the branch. It is the same for all
/// attempts of a try, and never used for another branch.
db::prepared_name prepared_name_of(const call& of);

/// The branch that has this name; empty if it is not that of a branch.
std::optional<prepared_branch> branch_named(const db::prepared_name& name);

/// A participant whose branch is a transaction of a database, by two-phase commit: the try works in
/// the transaction and leaves it prepared, the confirm commits it, the cancel rolls it back. No
/// reservation is needed, and nobody sees the work before the decision. `xa_postgres` and
/// `xa_mysql` make such participants.
///
/// | call | prepared | not there, noted as worked | not there, closed | not there, no note |
/// | --- | --- | --- | --- | --- |
/// | first try | waits for its end | `late_try` | `late_try` | work, prepare |
/// | later try | done | `late_try` | `late_try` | work, prepare |
/// | confirm | commit | done | `conflict` | `unknown_branch` |
/// | cancel | roll back, close | `conflict` | done | close |
///
/// A try that is repeated may have been prepared by its earlier attempt, and then is done. A
/// confirm that finds neither a transaction nor a note was preceded by somebody who has rolled the
/// transaction back by hand: the branch is stuck, and people must look.
///
/// While a branch is prepared it keeps its row locks. If the coordinator is away, they stay until
/// it is back: for work that must not wait for that, reservations (TCC) are the better choice.
///
/// Notes are forgotten when their transactions have ended long enough ago (`notes_kept`). A try
/// that is delivered later than that, because a process was stopped for so long, may be prepared
/// once more. The coordinator finds it when it looks for orphans, and nobody commits it.
///
/// A branch that has changed nothing is committed in its try, and needs no further call. So is one
/// that is the only branch of its transaction, whose note then says what became of it.
///
/// The protocol is presumed abort, as in the X/Open XA specification.
///
/// @par Threads   As `participant`.
class xa_participant : public participant {
public:
    static constexpr std::chrono::milliseconds notes_kept_default = std::chrono::hours(1);

    /// @param calls_at_once how many calls may be under way: the connections that there are
    /// @param notes_kept how long notes of ended transactions are kept: 1 ms to one year
    /// @param time the source of time; null: the real time
    xa_participant(
        std::shared_ptr<resource_manager> manager,
        std::size_t calls_at_once,
        std::chrono::milliseconds notes_kept = notes_kept_default,
        std::shared_ptr<coro::time_source> time = nullptr
    );
    ~xa_participant() override;

    /// Asks the database whether it can prepare transactions, and lets its participant list them:
    /// before a service takes orders. Without it, the first tries fail.
    ///
    /// @par Errors       thrown: `mortise::errc::wrong_server` with what to do, and those of the
    ///                   session.
    /// @par Cancellation as a query of the session.
    asio::awaitable<void> check();

    asio::awaitable<result<reply>> carry_out(call request) override;
    std::size_t calls_at_once() const noexcept override { return calls_at_once_; }
    bool accepts(const branch_work* work) const noexcept override {
        return manager_->accepts(work);
    }
    bool commits_alone() const noexcept override { return manager_->commits_alone(); }
    bool prepares() const noexcept override { return true; }
    asio::awaitable<result<std::vector<prepared_branch>>> list_prepared(std::uint64_t log) override;

private:
    const std::shared_ptr<resource_manager> manager_;
    const std::size_t calls_at_once_;
    const std::shared_ptr<detail::note_keeper> notes_;
};

}  // namespace mortise::txn

#endif
