// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_RESOURCE_MANAGER_HPP
#define MORTISE_TXN_RESOURCE_MANAGER_HPP

#include "mortise/db/prepared_transaction.hpp"
#include "mortise/error.hpp"
#include "mortise/txn/call.hpp"
#include "mortise/txn/reply.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::txn {

namespace asio = boost::asio;

/// What a database has noted of a branch.
enum class branch_note : std::uint8_t {
    nothing,
    worked,  ///< The transaction of its try is committed.
    closed,  ///< It was cancelled: its try may not be done any more.
};

/// A transaction that is prepared at a database.
class prepared_transaction {
public:
    prepared_transaction() = default;  // declared: no aggregate (docs/compilers.md, G3)
    explicit prepared_transaction(
        db::prepared_name called, std::optional<std::chrono::milliseconds> since = std::nullopt
    )
        : name(std::move(called)), age(since) {}

    db::prepared_name name;
    /// For how long it has been prepared, by the clock of the database; empty: it does not tell.
    std::optional<std::chrono::milliseconds> age;
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

    /// Fails by an exception if the database cannot prepare transactions, or may not list them.
    virtual asio::awaitable<void> check();

    /// Whether it can do a branch with this closure; null: one that has a payload only.
    virtual bool accepts(const branch_work* work) const noexcept { return work == nullptr; }

    /// Whether it can do `call::one_phase`.
    virtual bool commits_alone() const noexcept { return true; }

    /// Does the work of a try, notes the branch as `worked`, and leaves the transaction prepared
    /// under this name; if the call is `one_phase`, commits it.
    ///
    /// @return `done` if it is prepared, or committed; `done_for_good` if the work has changed
    ///     nothing, and nothing is prepared; another reply of the work if nothing was done.
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

    /// Lists all prepared transactions with names such as `prepared_name` makes, whoever has
    /// prepared them.
    virtual asio::awaitable<result<std::vector<prepared_transaction>>> list() = 0;

    /// Forgets notes of a participant's branches whose transactions have numbers of that log below
    /// `below`, a portion at a time. It does not wait for transactions that are prepared.
    /// @return whether there may be more
    virtual asio::awaitable<result<bool>>
    forget(std::uint64_t log, std::string participant, std::uint64_t below) = 0;
};

}  // namespace mortise::txn

#endif
