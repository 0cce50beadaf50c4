// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQL_SQL_GATEWAY_HPP
#define MORTISE_STORE_SQL_SQL_GATEWAY_HPP

#include "core/lock_engine.hpp"
#include "core/lock_rows.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/error.hpp"
#include "mortise/store.hpp"
#include "mortise/store_types.hpp"
#include "store/life/host_watch.hpp"
#include "store/link/session_link.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::store_detail {

namespace asio = boost::asio;

/// The number of one write of a lock. No two writes have the same, and none has zero.
using sql_stamp = std::uint64_t;

/// The base that the server's clock gives to a token: microseconds since 1970.
inline std::uint64_t clock_base(clock::time_point now) noexcept {
    using std::chrono::microseconds;
    const auto count = std::chrono::duration_cast<microseconds>(now.time_since_epoch()).count();
    return static_cast<std::uint64_t>(std::max<microseconds::rep>(count, 1));
}

/// The session in whose name a call is made. Every write of it compares the generation.
struct sql_actor {
    core::session_key key = 0;  ///< Zero: nobody, for calls that belong to no session.
    std::uint64_t generation = 0;
};

/// A session as others see it. A session without a row is dead.
struct sql_party {
    sql_party() = default;

    core::session_key key = 0;
    session_start owner;         ///< Its id, and what people see of it.
    bool dead = false;           ///< Marked as dead, for good.
    clock::time_point deadline;  ///< Not after the present: it can be marked.
};

/// The row of a lock. It has one of two forms.
///
/// *Plain* (`rest` is zero): at most one holder, who is named in the row, and waiters, each a row
/// of its own; all of them exclusive, without `hold_max`. Only a plain lock has short ways. *Mixed*
/// (`rest` is one): the row names no holder, and each holder and waiter has a row of its own.
struct sql_lock_row {
    sql_stamp stamp = 0;           ///< Zero: there is no row.
    core::session_key holder = 0;  ///< Of a plain lock; zero: nobody.
    request_id request = 0;        ///< The holder's.
    /// The highest that was drawn; the holder's token has it. Of a row without a grant so far: at
    /// least one below the floor.
    std::uint64_t base = 0;
    std::uint64_t queue = 0;       ///< How many rows of waiters there are.
    std::uint64_t last = 0;        ///< The highest ordinal that was given.
    std::uint32_t rest = 0;
};

/// A lock as one statement reads it.
struct sql_lock {
    sql_lock() = default;

    std::string name;
    sql_lock_row row;
    std::vector<core::lock_entry> entries;  ///< The rows besides that of the lock, by ordinal.
    std::vector<sql_party> parties;         ///< The sessions of holder, entries and actor.
    clock::time_point now;                  ///< By the server's clock, as `lock_entry::since`.
    std::uint64_t floor = 0;                ///< No token has a base below this.
    token_domain domain;                    ///< That of the store.
    clock::duration quarantine{};           ///< Not above zero: there is none.
};

/// A push to a session; its lock need not be named. Delivery is a hint: a push may be lost, and may
/// come twice.
using sql_push = core::effect;

/// A write of one lock: all of it, or nothing.
struct sql_lock_change {
    sql_lock_change() = default;

    std::string name;
    sql_actor actor;         ///< Refused unless this session is alive with this generation.
    sql_stamp expected = 0;  ///< The stamp that was read. Zero: there must be no row.
    sql_lock_row row;        ///< With the new stamp.
    std::vector<core::lock_entry> writes;  ///< Rows that are new or changed, by ordinal.
    std::vector<std::uint64_t> erased;     ///< Ordinals of rows to delete.
    /// By how much the change numbers of sessions grow, in the order of their keys.
    std::map<core::session_key, std::uint64_t> changes;
    std::vector<sql_push> pushes;
    bool visible = false;  ///< Entries changed: those who watch are told, once, and watch no more.
    std::optional<break_record> record;
};

/// The session after `prove`.
struct sql_proof {
    sql_proof() = default;

    core::session_key key = 0;
    random_id incarnation;
    token_domain domain;
    clock::duration quarantine{};
};

/// The answer to a heartbeat.
struct sql_beat {
    sql_beat() = default;

    std::uint64_t changes = 0;
    random_id incarnation;
    clock::duration quarantine{};
    bool watches = false;
    /// Until the first deadline of another session that lives, or the end of a grant of another
    /// session by its `hold_max`, or of the quarantine. Empty: there is none.
    std::optional<clock::duration> next_deadline;
    std::vector<core::session_key> dead;  ///< Others that are dead or over; a portion.
    std::vector<std::string> ended;       ///< Locks with a grant that has ended; a portion.
    /// The next few sessions, by their keys in a circle, whose client names the same host.
    std::vector<host_neighbour> nearest;
};

/// The entries of one session.
struct sql_entries {
    struct place {
        place() = default;

        core::lock_entry entry;  ///< With its name; of a plain holder without its ordinal.
        bool contended = false;  ///< Whether another session has a row as a waiter of this lock.
    };

    sql_entries() = default;

    bool alive = false;            ///< Has a row, is not dead, and its deadline has not passed.
    std::uint64_t generation = 0;  ///< Zero: there is no row.
    std::uint64_t changes = 0;
    clock::time_point now;
    std::vector<place> places;
};

/// The answer of a short way. `apt` is false if the lock is not in a state that the statement
/// knows; then nothing was done, and the general way decides.
struct sql_taken {
    bool apt = false;
    bool granted = false;  ///< Else it joined the queue.
    std::uint64_t base = 0;
    std::uint64_t ordinal = 0;  ///< Of a waiter.
    std::uint64_t queue = 0;    ///< How many wait, itself included.
    bool tells = false;         ///< The holder must still be told.
};

struct sql_left {
    bool erased = false;   ///< The waiter is gone.
    bool granted = false;  ///< It was granted meanwhile, with this base.
    std::uint64_t base = 0;
};

enum class row_lock : std::uint8_t {
    none,
    /// Keeps the row from everybody else until `store`, for a limited time: at most half a second,
    /// by the server's own means, so that a client that stops holds nobody up for longer.
    taken,
};

/// The port from the shell to one SQL server: each call is one message, and one transaction there
/// unless it says otherwise. The SQL that ran is in the facts on SQL locks (docs/adr/0028); the
/// shell was written to be served by those statements.
///
/// For who implements it:
/// * Nothing is held over a round trip, except by `row_lock::taken`, on a connection of its own.
/// * Row locks are taken in one order: lock, its waiters, then sessions by key.
/// * A statement sees one snapshot. Where it must see who came while it waited for a row, it locks
///   that row in a statement before (`pass_on`, `withdraw`); the joined row of another table is not
///   read again after a wait, a scalar subquery is.
/// * "Able" is a session that is not marked, whose deadline has not passed, while there is no
///   quarantine and nobody watches. The short ways ask for it, so that watchers miss nothing and a
///   quarantine holds.
/// * The session of a write is compared in the transaction under a row lock (`FOR SHARE`), or
///   `prove` ends the older connection at the server first: otherwise a statement that waits for a
///   row there takes effect after the newer connection has looked.
/// * A notification names the owner of the moment, and is not bound to a stamp: a join between two
///   transactions changes it, and nobody is told. Told twice is harmless. A server without messages
///   (MariaDB's bell) tells `look_again` for all of them.
/// * A push to the sender's own session is delivered, too.
///
/// Errors: `store_unavailable` (not sent), `outcome_unknown` (sent, no answer: the connection must
/// not be used again), `session_lost`, `newer_format`; `database_busy` (nothing was done).
///
/// @par Threads   The strand of the client.
/// @par Lifetimes Owned by a `shared_ptr`; calls keep it.
class sql_gateway {
public:
    using push_function = std::function<void(const sql_push&)>;

    virtual ~sql_gateway() = default;
    sql_gateway() = default;
    sql_gateway(const sql_gateway&) = delete;
    sql_gateway& operator=(const sql_gateway&) = delete;

    virtual store_traits traits() const noexcept = 0;

    /// Called once, before anything else. Both functions are called by handlers of their own:
    /// `pushed` for each push, `closed` when the connection has ended by itself.
    virtual void start(
        asio::any_io_executor strand,
        std::shared_ptr<coro::time_source> time,
        push_function pushed,
        std::function<void()> closed
    ) = 0;

    /// Opens a connection for the session, with what pushes need; `close` ends it. Calls of nobody
    /// work without it, by a connection of their own.
    virtual asio::awaitable<error_code> connect() = 0;
    virtual void close() noexcept = 0;

    /// Makes the session known or proves it again, by `core::judge_resume`. Keys are never used
    /// again, whatever the server forgets: they come from a logged sequence. Tables that are empty
    /// after a crash or a promotion are a new incarnation, with a quarantine as long as the longest
    /// TTL of those who may still believe in a lease: a logged table has a row for each TTL, with
    /// the time until which. It may be written ahead, so that few heartbeats write it.
    virtual asio::awaitable<result<sql_proof>> prove(session_start start) = 0;

    /// Extends the deadline of a session that is alive, and deletes some rows of locks that nobody
    /// holds or waits for and whose base is a minute old; the floor rises to their bases first.
    virtual asio::awaitable<result<sql_beat>> beat(sql_actor actor) = 0;

    /// Marks a session as dead, for good, if its deadline has passed: compared in the same
    /// statement, else a heartbeat under way would revive it. @return whether it is dead now.
    virtual asio::awaitable<result<bool>> mark_dead(core::session_key key) = 0;

    /// Marks a session, whatever its deadline: the own one, or one whose process is seen to have
    /// ended. Succeeds if it is dead already, or gone.
    virtual asio::awaitable<error_code> end(sql_actor actor) = 0;

    /// Deletes the row of a dead session that has no entries.
    virtual asio::awaitable<error_code> forget(core::session_key key) = 0;

    /// Takes a plain lock that is free and waited for by nobody; else, if `join`, queues behind its
    /// holder and waiters, if the holder is able. The first waiter of another session than the
    /// holder's tells the holder, and advances its change number. One statement. Refuses a lock
    /// that has the stamp already.
    virtual asio::awaitable<result<sql_taken>>
    take(sql_actor actor, std::string name, request_id id, bool join, sql_stamp stamp) = 0;

    /// Frees a plain lock that is held by that request and base, and has no waiter.
    /// @return whether it did.
    virtual asio::awaitable<result<bool>> release(
        sql_actor actor, std::string name, request_id id, std::uint64_t base, sql_stamp stamp
    ) = 0;

    /// As `release`, but grants the lock to the first waiter that is able, with a new base, and
    /// tells it, in a second transaction of the same write (inside of the first it would take a
    /// lock of the whole server at the commit). The change number of another session is advanced.
    /// Does nothing if there are waiters and none is able.
    virtual asio::awaitable<result<bool>> pass_on(
        sql_actor actor, std::string name, request_id id, std::uint64_t base, sql_stamp stamp
    ) = 0;

    /// Takes a waiter out of the queue of a plain lock.
    virtual asio::awaitable<result<sql_left>> withdraw(
        sql_actor actor, std::string name, request_id id, std::uint64_t ordinal, sql_stamp stamp
    ) = 0;

    /// Reads a lock, in one snapshot. @par Errors `session_lost` if the actor is not alive.
    /// With `row_lock::taken` the row is made first if there is none, and `database_busy` says that
    /// another client had it for too long. One `load` with it is under way at a lock: a second one
    /// of the same client gives the first one up.
    virtual asio::awaitable<result<sql_lock>>
    load(sql_actor actor, std::string name, row_lock mode) = 0;

    /// Writes a lock if it still has the expected stamp, and gives its row lock up. A change that
    /// was written before, by its stamp, is written: a repeated message does nothing. Pushes may
    /// go out inside the transaction, which is rare. A base that is ahead of the server's clock
    /// raises the floor of the logged table.
    /// @return whether it is written. @par Errors `session_lost` if the actor is not alive.
    virtual asio::awaitable<result<bool>> store(sql_lock_change change) = 0;

    /// The entries of a session, dead or alive, at most `limit` of them.
    virtual asio::awaitable<result<sql_entries>>
    entries(core::session_key key, std::size_t limit) = 0;

    /// The locks after `after`, by the bytes of their names, that have a holder or a waiter.
    virtual asio::awaitable<result<std::vector<sql_lock>>>
    list(std::string after, std::size_t limit) = 0;

    virtual asio::awaitable<result<std::vector<break_record>>>
    breaks(std::string name, std::size_t limit) = 0;

    /// Tells the session of the next visible change of any lock. Short ways are closed meanwhile.
    virtual asio::awaitable<error_code> watch(sql_actor actor) = 0;

    virtual asio::awaitable<result<std::vector<store_finding>>> examine() = 0;

    /// The newest failure, for people. Any thread.
    virtual std::string explain() const { return {}; }
};

/// The store at a SQL server: the rules of `core::lock_engine`, and the short ways of the server.
/// If it watches the host, sessions whose process has ended on this host are ended at once.
std::unique_ptr<store> make_sql_store(
    std::shared_ptr<sql_gateway> gateway, reconnect_pauses pauses, bool watches_host = false
);

}  // namespace mortise::store_detail

#endif
