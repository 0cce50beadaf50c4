// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SQL_MODEL_SQL_TABLES_HPP
#define MORTISE_TESTS_SQL_MODEL_SQL_TABLES_HPP

#include "core/session_rules.hpp"
#include "store/sql/sql_gateway.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mortise::sql_model {

using core::session_key;

/// The tables of a SQL server, as values, and its transactions, as functions: each has the
/// conditions of the statements of the facts on SQL locks, and knows nothing of the lock engine.
///
/// A statement that would wait for a locked row says `database_busy` or misses instead.
class sql_tables {
public:
    /// Hands a push over to the session that it names; called at the end of a transaction.
    using notify_function = std::function<void(const store_detail::sql_push&)>;

    explicit sql_tables(notify_function notify);

    // The calls of `store_detail::sql_gateway`, at a time of the server's clock.
    result<store_detail::sql_proof> prove(clock::time_point now, const session_start& start);
    result<store_detail::sql_beat> beat(clock::time_point now, store_detail::sql_actor actor);
    result<bool> mark_dead(clock::time_point now, session_key key);
    error_code end(store_detail::sql_actor actor);
    error_code forget(session_key key);
    result<store_detail::sql_taken> take(
        clock::time_point now,
        store_detail::sql_actor actor,
        const std::string& name,
        request_id id,
        bool join,
        store_detail::sql_stamp stamp
    );
    result<bool> release(
        clock::time_point now,
        store_detail::sql_actor actor,
        const std::string& name,
        request_id id,
        std::uint64_t base,
        store_detail::sql_stamp stamp
    );
    result<bool> pass_on(
        clock::time_point now,
        store_detail::sql_actor actor,
        const std::string& name,
        request_id id,
        std::uint64_t base,
        store_detail::sql_stamp stamp
    );
    result<store_detail::sql_left> withdraw(
        clock::time_point now,
        store_detail::sql_actor actor,
        const std::string& name,
        request_id id,
        std::uint64_t ordinal,
        store_detail::sql_stamp stamp
    );
    /// @param locker whose row lock it becomes; zero: takes none.
    result<store_detail::sql_lock> load(
        clock::time_point now,
        store_detail::sql_actor actor,
        const std::string& name,
        std::uint64_t locker
    );
    result<bool>
    store(clock::time_point now, const store_detail::sql_lock_change& change, std::uint64_t locker);
    result<store_detail::sql_entries>
    entries(clock::time_point now, session_key key, std::size_t limit) const;
    result<std::vector<store_detail::sql_lock>>
    list(clock::time_point now, const std::string& after, std::size_t limit) const;
    result<std::vector<break_record>> breaks(const std::string& name, std::size_t limit) const;
    error_code watch(clock::time_point now, store_detail::sql_actor actor);
    result<std::vector<store_finding>> examine() const;

    /// The tables that are not logged are empty, as after a crash of the server.
    void lose_unlogged(clock::time_point now);

    std::size_t sessions() const noexcept { return sessions_.size(); }
    /// How many hold or wait.
    std::size_t parties() const;
    /// How often a request got a second entry: each has one, however often it is asked.
    std::size_t doubles() const noexcept { return doubles_; }

    /// How long a row lock lasts at most.
    static constexpr std::chrono::milliseconds row_lock_max{500};

private:
    struct session_row {
        session_row() = default;

        session_start start;
        clock::time_point deadline;
        bool dead = false;
        std::uint64_t changes = 0;
        bool watches = false;
    };
    struct stored_lock {
        stored_lock() = default;

        store_detail::sql_lock_row row;
        std::map<std::uint64_t, core::lock_entry> entries;
        std::uint64_t locker = 0;
        clock::time_point locked_until;
    };

    bool alive(session_key key, clock::time_point now) const;
    bool acts(store_detail::sql_actor actor, clock::time_point now) const;
    bool able(session_key key, clock::time_point now) const;
    bool free_for(const stored_lock& lock, std::uint64_t locker, clock::time_point now) const;
    stored_lock* held_plainly(
        clock::time_point now,
        store_detail::sql_actor actor,
        const std::string& name,
        request_id id,
        std::uint64_t base
    );
    /// Whether a session other than that of the holder waits for a plain lock.
    static bool others_wait(const stored_lock& lock);
    static std::size_t entries_of(const stored_lock& lock, session_key session, request_id id);
    std::uint64_t next_base(const stored_lock& lock, clock::time_point now);
    void keep_alive(session_row& session, clock::time_point now);
    void mark(session_row& session);
    void
    look_after_others(store_detail::sql_beat& reply, session_key own, clock::time_point now) const;
    void delete_old_locks(clock::time_point now);
    void tell_watchers();
    store_detail::sql_lock
    read(const std::string& name, const stored_lock& lock, clock::time_point now) const;
    void add_party(store_detail::sql_lock& to, session_key key) const;

    notify_function notify_;

    // Logged.
    const token_domain domain_;
    session_key last_key_ = 0;
    std::uint64_t floor_ = 1;
    /// The TTLs of those who may still believe in a lease, and until when they may.
    std::map<std::chrono::milliseconds, clock::time_point> believed_;
    std::size_t doubles_ = 0;
    std::deque<break_record> breaks_;

    // Not logged.
    random_id incarnation_ = random_id::draw();
    clock::time_point quarantine_until_;
    std::size_t watched_ = 0;
    std::map<session_key, session_row> sessions_;
    std::map<std::string, stored_lock> locks_;
};

}  // namespace mortise::sql_model

#endif
