// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_SERVER_CONNECTION_HPP
#define MORTISE_DB_SERVER_CONNECTION_HPP

#include "db/server_failure.hpp"
#include "mortise/coro/detail/completion.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/db/bound_sql.hpp"
#include "mortise/db/prepared_transaction.hpp"
#include "mortise/db/query_result.hpp"
#include "mortise/db/server_limits.hpp"
#include "mortise/db/transaction_mark.hpp"
#include "mortise/db/transaction_options.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string_view>

namespace mortise::db::detail {

/// The transaction of a connection, as the server sees it after its last answer.
enum class transaction_state : std::uint8_t {
    none,
    open,
    failed,  ///< It cannot be committed, unless a savepoint undoes the failure.
    doomed,  ///< The server has undone it, or a part of it.
};

/// The answer to a statement.
struct server_reply {
    server_failure failure;
    bool lost = false;  ///< The connection ended before the answer.
    query_result result;
};

/// The answer to a commit.
struct server_ending {
    server_failure failure;
    bool unknown = false;   ///< It may have been committed all the same.
    transaction_mark mark;  ///< To look that up.
};

/// A connection to a database server, for one transaction after the other.
///
/// Each handler is called once: on the strand, maybe from inside of the call that it belongs to or
/// of `close`; not after `drop`.
///
/// @par Threads   The strand.
/// @par Lifetimes Kept alive by what it waits for.
class server_connection {
public:
    using ended = std::function<void(server_failure)>;
    using replied = std::function<void(server_reply)>;
    using committed = std::function<void(server_ending)>;
    using statement_id = std::uint64_t;

    server_connection() = default;
    server_connection(const server_connection&) = delete;
    server_connection& operator=(const server_connection&) = delete;
    virtual ~server_connection() = default;

    /// Connects and logs in, in `connect_max`.
    virtual void open(ended then) = 0;
    /// Looks, without waiting, whether the connection has ended, as far as can be seen.
    virtual bool check() = 0;
    /// Asks the server for a sign of life.
    virtual void probe(ended then) = 0;

    /// Begins a transaction, now or with its first statement.
    /// @param name under which it can be prepared; empty: it cannot
    virtual void
    begin(const transaction_options& options, const prepared_name& name, ended then) = 0;
    /// Forgets a transaction of which the server has seen nothing.
    virtual void forget_begin() noexcept {}
    /// Whether there is something to commit or to roll back.
    virtual bool begun() const noexcept = 0;
    /// Whether the next statement can be sent, although others may be under way.
    virtual bool takes_statement() const noexcept = 0;
    /// Runs a statement, in the transaction if one was begun, else by itself.
    virtual statement_id run(bound_sql statement, replied then) = 0;
    /// Asks the server to end this statement, if it is under way. Its answer comes all the same,
    /// and the request hits nothing that is sent later. If none comes for `cancel_max`, the
    /// connection is closed.
    virtual void cancel(statement_id statement) = 0;
    virtual void commit(committed then) = 0;
    virtual void roll_back(ended then) = 0;
    /// Prepares the transaction that was begun with a name, instead of a commit.
    virtual void prepare(committed then) = 0;
    /// Ends a transaction that was prepared, on this connection or on another one.
    virtual void end_prepared(const prepared_name& name, prepared_end how, replied then) = 0;
    /// Whether the transaction that it has prepared keeps it from all else: only it can end that
    /// one, until it is closed.
    virtual bool holds_prepared() const noexcept { return false; }

    /// Whether something is under way.
    virtual bool busy() const noexcept = 0;
    /// Whether it is open, as far as is known.
    virtual bool usable() const noexcept = 0;
    /// Whether it can serve another transaction.
    virtual bool reusable() const noexcept = 0;
    virtual transaction_state state() const noexcept = 0;
    /// Why it was closed.
    virtual server_failure last_words() const = 0;
    /// The server's number of the connection, and what asks for the outcome of its transaction; if
    /// it is known before the end.
    virtual std::uint32_t number() const noexcept { return 0; }
    virtual transaction_mark mark() const { return {}; }

    /// Closes the connection and answers what is under way with this failure.
    virtual void close(const server_failure& why) = 0;
    /// Closes it without a call.
    virtual void drop() noexcept = 0;

    /// The connection has served a transaction before.
    bool served = false;
    /// Its settings were changed: it must not serve others.
    bool retired = false;
};

class server_session;

/// A kind of server, and the place of one.
class server_place {
public:
    server_place() = default;
    server_place(const server_place&) = delete;
    server_place& operator=(const server_place&) = delete;
    virtual ~server_place() = default;

    virtual const server_limits& limits() const noexcept = 0;
    virtual std::shared_ptr<server_connection>
    connection(const asio::any_io_executor& strand, std::shared_ptr<coro::time_source> time) = 0;
    /// Why a statement cannot be sent; no failure if it can.
    virtual server_failure refusal_of(const bound_sql& statement) const = 0;
    /// Whether a statement begins or ends a transaction; also unasked, if there is one already.
    virtual bool controls_transaction(std::string_view sql, bool in_transaction) const = 0;
    /// Whether the server undid the transaction for the sake of another one.
    virtual bool is_conflict(const error_code& code) const noexcept = 0;
    /// Whether the server cancelled the statement.
    virtual bool is_interruption(const error_code& code) const noexcept = 0;
    /// Whether the server knows no prepared transaction of that name.
    virtual bool is_missing(const error_code& code) const noexcept = 0;
    /// Looks up the outcome of a transaction.
    virtual void look_up(
        coro::detail::completion<void(std::exception_ptr, transaction_outcome)> done,
        const std::shared_ptr<server_session>& session,
        transaction_mark mark
    ) = 0;
};

/// Checks the limits that all kinds of servers have. @throws error `bad_config`
void require_limits(const server_limits& limits);

}  // namespace mortise::db::detail

#endif
