// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_RESOURCE_MANAGER_HPP
#define MORTISE_TXN_RESOURCE_MANAGER_HPP

#include "mortise/db/prepared_transaction.hpp"
#include "mortise/error.hpp"
#include "mortise/txn/call.hpp"
#include "mortise/txn/reply.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>

namespace mortise::txn {

namespace asio = boost::asio;

/// What a database has noted of a branch.
enum class branch_note : std::uint8_t {
    nothing,
    worked,  ///< The transaction of its try is committed.
    closed,  ///< It was cancelled: its try may not be done any more.
};

/// The port between `xa_participant` and a database whose transactions can be prepared.
///
/// The database keeps a note of each branch. The one of a try is written in the transaction of the
/// try itself, so that a transaction that is not there any more was committed if there is a note,
/// and else rolled back.
///
/// @par Threads   Calls come from the coordinator's executor, several at a time.
class resource_manager {
public:
    resource_manager() = default;
    resource_manager(const resource_manager&) = delete;
    resource_manager& operator=(const resource_manager&) = delete;
    virtual ~resource_manager() = default;

    /// Does the work of a try, notes the branch as `worked`, and leaves the transaction prepared
    /// under this name.
    ///
    /// @return `done` if it is prepared; another reply of the work if nothing was done.
    /// @par Errors `late_try`: the branch is noted already. Any other error, or an exception, means
    ///             that it may be prepared.
    virtual asio::awaitable<result<reply>> prepare(db::prepared_name name, call request) = 0;

    /// Ends the transaction of that name.
    /// @return whether it was there
    virtual asio::awaitable<result<bool>> finish(db::prepared_name name, db::prepared_end how) = 0;

    /// Tells what is noted of the branch of the call. It waits for a transaction that has noted the
    /// branch, and is not ended.
    /// @param close notes the branch as `closed` if nothing is noted
    virtual asio::awaitable<result<branch_note>> look(call request, bool close) = 0;
};

}  // namespace mortise::txn

#endif
