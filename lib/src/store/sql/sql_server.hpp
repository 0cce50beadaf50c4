// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQL_SQL_SERVER_HPP
#define MORTISE_STORE_SQL_SQL_SERVER_HPP

#include "core/lock_rows.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/db/bound_sql.hpp"
#include "mortise/db/query_result.hpp"
#include "mortise/error.hpp"
#include "mortise/store_types.hpp"
#include "store/sql/sql_gateway.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::store_detail {

/// One statement of a message.
class sql_step {
public:
    explicit sql_step(db::bound_sql statement, bool last = false)
        : sql(std::move(statement)), ends(last) {}

    db::bound_sql sql;
    /// Whether a transaction that the statements did not begin by themselves ends here
    /// (PostgreSQL: a Sync).
    bool ends = false;
};

/// Statements that go to the server in one write.
class sql_message {
public:
    sql_message() = default;

    /// Adds a statement; `values` as for `db::bound_sql`.
    template <class... Values>
    sql_message& add(std::string text, const Values&... values) {
        steps.emplace_back(db::bound_sql(std::move(text), values...));
        return *this;
    }
    /// Ends the transaction of the statements so far.
    sql_message& end() {
        steps.back().ends = true;
        return *this;
    }
    /// The next statement that is added gives the first result of interest.
    sql_message& answer() {
        first = steps.size();
        return *this;
    }

    std::vector<sql_step> steps;
    std::size_t first = 0;
    bool watches = false;  ///< The session begins to watch.
};

/// The results of a message, from the one of interest on.
using sql_results = std::vector<db::query_result>;

/// The use of a connection.
enum class sql_use : std::uint8_t {
    session,   ///< All calls of a session; its pushes.
    passing,   ///< One call of nobody.
    row_lock,  ///< A transaction from `load` to `store` that keeps the row of a lock.
};

/// One connection.
///
/// @par Threads   The strand.
/// @par Lifetimes Owned by a `shared_ptr`; its operations keep it.
class sql_wire {
public:
    virtual ~sql_wire() = default;
    sql_wire() = default;
    sql_wire(const sql_wire&) = delete;
    sql_wire& operator=(const sql_wire&) = delete;

    /// Connects, in limited time; sees that the server can be used, and that the tables are there.
    virtual asio::awaitable<error_code> open() = 0;
    /// Has the pushes of that session arrive from now on.
    virtual asio::awaitable<error_code> hear(core::session_key key) = 0;
    /// Sends a message. Messages are sent without waiting for the answers to earlier ones.
    ///
    /// @return one result for each statement, from `message.first` on.
    /// @par Errors As of `sql_gateway`: `store_unavailable` (not sent), `outcome_unknown` (sent, no
    ///             answer; so also for all that is under way at `close`), `database_busy` (nothing
    ///             was done: a row lock was not given in time, or the transaction was undone for
    ///             others), or the meaning of the server's failure.
    virtual asio::awaitable<result<sql_results>> send(sql_message message) = 0;
    virtual void close() noexcept = 0;
};

/// Calls to the gateway, by handlers of their own.
class sql_wire_events {
public:
    sql_wire_events() = default;

    std::function<void(const sql_push&)> pushed;
    std::function<void()> closed;                 ///< The connection has ended by itself.
    std::function<void(std::string)> remembered;  ///< The newest failure, for people.
};

/// One kind of SQL server, for `statement_gateway`: its connections and its SQL. The results that
/// the comments name have these columns, of integers unless they say otherwise, in any order.
/// Columns of texts and bytes may be either. Booleans are integers; times are microseconds since
/// 1970 by the server's clock, durations microseconds, and TTLs milliseconds; a session's id and
/// the incarnation are 32 hexadecimal digits.
///
/// *Lock columns*: `name` (bytes), `stamp` (NULL: no row), `holder` (NULL: nobody), `request`,
/// `base`, `queue`, `last`, `rest`; `now`, `floor`, `domain` (text), `quarantine`. One row for each
/// entry, with the *entry columns*: `ordinal`, `granted`, `session`, `id`, `mode` (as
/// `lock_mode::kind`), `capacity`, `hold_max` (milliseconds; NULL: none), `token`, `slot`, `since`;
/// and of its session the *party columns*: `session_id`, `host`, `label`, `pid`, `generation`,
/// `ttl`, `dead`, `deadline`; all of them NULL for a session without a row. A row with `ordinal`
/// NULL tells only of the session `session`: the holder's, the actor's; there is always at least
/// one row of a lock that is there.
class sql_server {
public:
    virtual ~sql_server() = default;
    sql_server() = default;
    sql_server(const sql_server&) = delete;
    sql_server& operator=(const sql_server&) = delete;

    virtual store_traits traits() const noexcept = 0;

    virtual std::shared_ptr<sql_wire> make_wire(
        sql_use use,
        const asio::any_io_executor& strand,
        const std::shared_ptr<coro::time_source>& time,
        sql_wire_events events
    ) = 0;

    // The messages of the calls of `sql_gateway`, in its order. The results of interest follow each
    // other from `sql_message::first` on.

    /// `key`, `incarnation`, `domain` (text), `quarantine`. No row: `session_lost`.
    virtual sql_message prove(const session_start& start) const = 0;
    /// `changes`, `incarnation`, `watches`, `quarantine`, `next_deadline` (NULL: none); no row:
    /// `session_lost`. Then `key` of other sessions that are dead or over, a portion. Then `name`
    /// of locks with a grant that has ended, a portion. Then `key` and `id` of the nearest sessions
    /// on the host.
    virtual sql_message beat(sql_actor actor) const = 0;
    /// `dead`; no row: it is gone.
    virtual sql_message mark_dead(core::session_key key) const = 0;
    virtual sql_message end(sql_actor actor) const = 0;
    virtual sql_message forget(core::session_key key) const = 0;
    /// Whether a lock that may be free is better asked for without joining first: that message is
    /// cheaper, so that a second one for those that are held costs less in all.
    virtual bool takes_apart() const noexcept { return false; }
    /// `granted`, `base` (NULL: not apt), `ordinal`, `queue`, `tells` (the holder must still be
    /// told, by `tell_holder`); no row: not apt.
    virtual sql_message take(
        sql_actor actor, const std::string& name, request_id id, bool join, sql_stamp stamp
    ) const = 0;
    /// Tells the holder of a plain lock that another session waits, if this request is the first of
    /// such a session, and if `take` leaves that to statements of their own. Nobody waits for the
    /// answer.
    virtual sql_message tell_holder(
        [[maybe_unused]] sql_actor actor,
        [[maybe_unused]] const std::string& name,
        [[maybe_unused]] request_id id
    ) const {
        return {};
    }
    /// A row, or one changed: done; so also of `pass_on`.
    virtual sql_message release(
        sql_actor actor, const std::string& name, request_id id, std::uint64_t base, sql_stamp stamp
    ) const = 0;
    virtual sql_message pass_on(
        sql_actor actor, const std::string& name, request_id id, std::uint64_t base, sql_stamp stamp
    ) const = 0;
    /// `erased`, `granted`, `base`; no row: neither.
    virtual sql_message withdraw(
        sql_actor actor,
        const std::string& name,
        request_id id,
        std::uint64_t ordinal,
        sql_stamp stamp
    ) const = 0;
    /// Lock columns. With `row_lock::taken` it begins a transaction of limited length.
    virtual sql_message load(sql_actor actor, const std::string& name, row_lock mode) const = 0;
    /// `alive` (of the actor, or nobody acts), `written`. After `row_lock::taken` the transaction
    /// ends.
    virtual sql_message store(const sql_lock_change& change, row_lock mode) const = 0;
    /// At least one row with `alive`, `generation` (zero: no session), `changes`, `now`; and for
    /// each entry `name`, the entry columns, `contended`. Of a plain holder `ordinal` is 0, `token`
    /// its base shifted, `since` NULL.
    virtual sql_message entries(core::session_key key, std::size_t limit) const = 0;
    /// Lock columns, by `name`.
    virtual sql_message list(const std::string& after, std::size_t limit) const = 0;
    /// `at`, `name`, `token`, `domain`, `holder`, `who`, `why`; the newest first. An empty name
    /// means all.
    virtual sql_message breaks(const std::string& name, std::size_t limit) const = 0;
    /// A row: done. No row: `session_lost`.
    virtual sql_message watch(sql_actor actor) const = 0;
    virtual sql_message examine() const = 0;
    virtual std::vector<store_finding> findings(const sql_results& found) const = 0;
};

// The answers of a SQL server as values; A column that is
// missing or of another type is thrown as `error` (column_unknown, column_type).

/// The bytes of a column that is bytes or text; of NULL none.
std::string bytes_in(const db::row& from, std::string_view column);

result<sql_proof> read_proof(const sql_results& found);
result<sql_beat> read_beat(const sql_results& found);
result<bool> read_dead(const sql_results& found);
result<sql_taken> read_taken(const sql_results& found);
/// Whether there is a row, or one was changed.
result<bool> read_done(const sql_results& found);
result<sql_left> read_left(const sql_results& found);
result<bool> read_written(const sql_results& found);
result<sql_entries> read_entries(const sql_results& found);
result<std::vector<sql_lock>> read_locks(const sql_results& found);
result<std::vector<break_record>> read_breaks(const sql_results& found);

/// The only lock. @par Errors `session_lost` if the actor is not alive.
result<sql_lock> read_lock(const sql_results& found, sql_actor actor);

/// A gateway at such a server.
std::shared_ptr<sql_gateway> make_statement_gateway(std::unique_ptr<sql_server> server);

/// The store at such a server.
std::unique_ptr<store> make_sql_store(std::unique_ptr<sql_server> server);

}  // namespace mortise::store_detail

#endif
