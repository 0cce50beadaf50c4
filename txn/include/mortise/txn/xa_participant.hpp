// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_XA_PARTICIPANT_HPP
#define MORTISE_TXN_XA_PARTICIPANT_HPP

#include "mortise/txn/participant.hpp"
#include "mortise/txn/resource_manager.hpp"

#include <cstddef>
#include <memory>

namespace mortise::txn {

/// The name under which the transaction of a branch is prepared: `mortise:` and the id of the
/// transaction; the term in which it began, and the number of the branch. It is the same for all
/// attempts of a try, and never used for another branch.
db::prepared_name prepared_name_of(const call& of);

/// A participant whose branch is a transaction of a database, by two-phase commit: the try works in
/// the transaction and leaves it prepared, the confirm commits it, the cancel rolls it back. No
/// reservation is needed, and nobody sees the work before the decision. `xa_postgres` and
/// `xa_mysql` make such participants.
///
/// | call | prepared | not there, noted as worked | not there, closed | not there, no note |
/// | --- | --- | --- | --- | --- |
/// | first try | waits for its end | `late_try` | `late_try` | work, prepare |
/// | later try | roll back; work, prepare | `late_try` | `late_try` | work, prepare |
/// | confirm | commit | done | `conflict` | `unknown_branch` |
/// | cancel | roll back, close | `conflict` | done | close |
///
/// A try that is repeated may have been prepared by its earlier attempt; its work is done again. A
/// confirm that finds neither a transaction nor a note was preceded by somebody who has rolled the
/// transaction back by hand: the branch is stuck, and people must look.
///
/// While a branch is prepared it keeps its row locks. If the coordinator is away, they stay until
/// it is back: for work that must not wait for that, reservations (TCC) are the better choice.
///
/// The protocol is presumed abort, as in the X/Open XA specification.
///
/// @par Threads   As `participant`.
class xa_participant : public participant {
public:
    /// @param calls_at_once how many calls may be under way: the connections that there are
    xa_participant(std::shared_ptr<resource_manager> manager, std::size_t calls_at_once);

    asio::awaitable<result<reply>> carry_out(call request) override;
    std::size_t calls_at_once() const noexcept override { return calls_at_once_; }

private:
    const std::shared_ptr<resource_manager> manager_;
    const std::size_t calls_at_once_;
};

}  // namespace mortise::txn

#endif
