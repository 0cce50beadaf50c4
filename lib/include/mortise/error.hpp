// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_ERROR_HPP
#define MORTISE_ERROR_HPP

#include "mortise/coro/fwd.hpp"

#include <boost/system/error_category.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/error_condition.hpp>
#include <boost/system/result.hpp>
#include <boost/system/system_error.hpp>

#include <string>
#include <type_traits>

namespace mortise {

using boost::system::result;

/// The error codes of mortise. The message of each code says what to do about it.
enum class errc : int {
    // The lock.
    /// Somebody else holds the lock and `wait_max` ran out (a try waits for nothing).
    busy = 1,
    lease_lost,        ///< The store no longer names this lease as the holder.
    lease_expired,     ///< The window of validity ended before a heartbeat was acknowledged.
    lease_released,    ///< The lease was released before, or moved from: it guards nothing.
    outcome_unknown,   ///< A request was sent and no answer came: it may have taken effect.
    client_stopped,    ///< `lock_client::async_stop` was called, or the client was destroyed.
    session_lost,      ///< The store declared this client's session dead; its leases are lost.
    too_many_waiters,  ///< `client_config::waiters_max` acquires are waiting already.
    forked,            ///< A forked child uses a client of its parent: make a new one there.
    capacity_differs,  ///< The lock is in use with another number of permits.
    /// The owner holds the lock shared: it must release it before it asks for more.
    upgrade_refused,
    /// The owner has lost a lease of this lock and has not let go of it yet: it must not begin anew
    /// inside of work that has lost its lock.
    outer_lease_lost,
    too_many_holds,  ///< The owner has `client_config::holds_max` leases of this lock already.

    // Tokens.
    stale_token,  ///< A higher fencing token was already admitted: this writer is too late.
    /// The token comes from another domain (another store): it has no order here.
    foreign_domain,
    no_token,  ///< The token is empty: of no grant, or of a store that gives none.
    /// The fence must be checked in the transaction that writes: open it first.
    no_transaction,

    // Arguments.
    name_empty,         ///< A lock name has at least one byte.
    names_missing,      ///< An acquire of several locks names none.
    name_too_long,      ///< A lock name has at most 1,024 bytes.
    duration_negative,  ///< A duration is below zero.
    duration_too_long,  ///< A duration is longer than the hundred years that are the limit.
    ttl_too_short,      ///< The session's TTL is below the smallest that the store can keep.
    ttl_too_long,       ///< The session's TTL is above the largest that the store accepts.
    bad_mode,           ///< A lock has 1 to 65,535 permits.
    bad_config,         ///< Two settings contradict each other, or one is outside of its limits.
    unknown_scheme,     ///< No store answers to the scheme of this URL.
    bad_url,            ///< The store URL cannot be understood.
    unsupported,        ///< The store cannot do what was asked for.

    // The store.
    store_unavailable,  ///< The store did not answer, or answered that it cannot work just now.
    store_full,         ///< The disk or the memory is full, or a limit of the store is reached.
    store_corrupt,      ///< The store's data contradicts itself.
    store_replaced,     ///< The store behind this URL is another one than at the start.
    not_a_database,     ///< The file exists and is not an SQLite database.
    not_a_store,        ///< The database exists and belongs to something else than mortise.
    not_writable,       ///< The file or its folder cannot be written.
    /// The database has a hard link, or is mounted without its folder: by its other name nobody
    /// would see who uses it by this one.
    several_names,
    too_many_files,  ///< The process, or the host, is out of file descriptors.
    /// The file lies on a network file system, where its locks cannot be trusted.
    network_file_system,
    newer_format,  ///< The store was written by a newer mortise.
    /// The store is in use from another time namespace; its deadlines differ.
    foreign_time_namespace,
    too_many_sessions,  ///< Every place for a session in the store is taken.

    // Servers.
    access_denied,        ///< The server refuses the login, or a command beyond its rights.
    wrong_server,         ///< The peer that answers is not a server that this store can use.
    untrusted_server,     ///< The server's certificate is not trusted, or names another host.
    read_only_server,     ///< The server is a replica: it takes no writes.
    server_loading,       ///< The server has started and still loads its data.
    server_busy,          ///< A script of somebody keeps the server busy.
    unsafe_server,        ///< The server may forget locks: it evicts keys, or refuses `INFO`.
    not_enough_replicas,  ///< Fewer replicas than are asked for acknowledged a write in time.
    /// The store is new, was restarted or was flushed, and may have forgotten who holds the lock:
    /// it grants nothing yet. `lock_client::explain` says for how long.
    quarantined,

    // Database sessions.
    /// Another connection held the database for longer than `busy_max`: nothing was done.
    database_busy,
    /// Other closures of the batch, or the disk, undid the transaction: nothing was done.
    rolled_back,
    /// A closure tried an action of its session: to begin or end a transaction, or the like.
    transaction_control,
    /// The commit failed, or its answer was lost: only a look at the database shows whether the
    /// work was done.
    commit_unknown,
    poisoned,        ///< A commit of this session failed before: open a new session.
    row_missing,     ///< There is no row of that id.
    contended,       ///< Others changed the row first, each of `attempts_max` times.
    column_unknown,  ///< The row has no column of that name or number.
    column_type,     ///< The column holds a value of another type than was asked for.
    /// A value cannot be sent to the database: a text with a zero byte, say, or too many values.
    value_refused,
    /// All connections of the session stayed in use for `wait_max`: nothing was done.
    no_connection_free,
    /// Another transaction holds the lock of a row or table, for longer than was to be waited: this
    /// transaction cannot go on.
    row_busy,
};

/// Classes of the codes above, for `==`.
enum class condition : int {
    /// The lease does not, or not surely, guard anything now: `lease_lost`, `lease_expired`,
    /// `lease_released`, `outer_lease_lost`, `session_lost`, `stale_token`, `client_stopped`,
    /// `forked`.
    not_held = 1,
    retryable,     ///< Nothing is wrong with the request: the same call may succeed later.
    bad_argument,  ///< The call can never succeed as it is: a name, a duration, a URL is at fault.
    /// Another transaction holds the lock of a row, a table or a database for too long: `row_busy`,
    /// `database_busy`, and what servers report of a lock time-out or of NOWAIT.
    row_held,
};

const boost::system::error_category& error_category() noexcept;
const boost::system::error_category& condition_category() noexcept;

inline error_code make_error_code(errc e) noexcept {
    return {static_cast<int>(e), error_category()};
}

inline boost::system::error_condition make_error_condition(condition c) noexcept {
    return {static_cast<int>(c), condition_category()};
}

/// A code together with the value that caused it and with the remedy.
///
/// Thrown by `open_store`, by the `make_` and `parse_` functions of stores, by the constructors of
/// `lock_client` and `leader_candidate`, by `with_lock` and `lead`; returned by `check_name`,
/// `check_options` and `check_config`. `async_` operations give the bare code.
///
/// `what()` reads "message: value; remedy".
class error : public boost::system::system_error {
public:
    error(error_code code, std::string value, std::string remedy);

    /// The offending value, as text; empty if there is none to show.
    const std::string& value() const noexcept { return value_; }

    /// The remedy, as a sentence.
    const std::string& remedy() const noexcept { return remedy_; }

    const char* what() const noexcept override { return what_.c_str(); }

private:
    std::string value_;
    std::string remedy_;
    std::string what_;
};

}  // namespace mortise

template <>
struct boost::system::is_error_code_enum<mortise::errc> : std::true_type {};
template <>
struct boost::system::is_error_condition_enum<mortise::condition> : std::true_type {};

#endif
