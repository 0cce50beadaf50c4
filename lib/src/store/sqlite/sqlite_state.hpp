// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_SQLITE_STATE_HPP
#define MORTISE_STORE_SQLITE_SQLITE_STATE_HPP

#include "core/lock_engine.hpp"
#include "mortise/coro/detail/fork_guard.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/store/sqlite.hpp"
#include "sqlite/sockets.hpp"
#include "store/sqlite/commit_news.hpp"
#include "store/sqlite/hint_sender.hpp"
#include "store/sqlite/lock_operations.hpp"
#include "store/sqlite/outcome.hpp"
#include "store/sqlite/own_session.hpp"
#include "store/sqlite/session_index.hpp"
#include "store/sqlite/sql_rows.hpp"
#include "store/sqlite/store_files.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mortise::store_detail {

class lock_reader;

/// What `resume` gives to the shell: the answer, and the sockets if the session is new.
struct opened_session {
    opened_session() = default;

    resumed reply;
    std::shared_ptr<own_session> session;
    sqlite_detail::session_sockets sockets;
    bool is_new = false;
};

/// The blocking half of the SQLite store: every function may wait for the disk or for other
/// processes.
///
/// Each function that changes a lock is one transaction under the lock of the side folder, and ends
/// with hints to the sessions concerned, sent after the lock is free again. What concerns this
/// store's own client comes back as notices.
///
/// Source files: sqlite_state.cpp (transactions, and what the client asks), sqlite_sessions.cpp
/// (opening, ending and reaping sessions).
///
/// @par Threads The writer's thread, one call at a time; functions marked so: any thread.
class sqlite_state {
public:
    sqlite_state(sqlite_store_config config, std::shared_ptr<coro::time_source> time);

    outcome<opened_session> resume(const session_start& start);
    outcome<nothing> end();
    /// Does the operations in this order, in one transaction: all of them, or none if it fails. The
    /// last one gets the notices.
    void perform(std::span<lock_operation* const> all);

    outcome<bool> break_(const break_order& order);
    outcome<session_view> look();
    outcome<std::vector<lock_view>>
    list(const std::string& after, std::size_t limit, std::size_t queue_max);
    outcome<std::optional<lock_view>> inspect(const std::string& name, std::size_t queue_max);
    outcome<std::vector<break_record>> breaks(const std::string& name, std::size_t limit);

    outcome<std::vector<store_finding>> examine();

    /// Ends the sessions that are dead or have expired, and those in `proved_dead`, as far as one
    /// transaction goes. Answers whether anything is left to reap: then call again.
    outcome<bool> reap(const std::vector<neighbour>& proved_dead);

    /// How many entries one transaction reaps: it takes about a millisecond, for which other
    /// processes wait for the lock of the folder.
    static constexpr std::size_t reaped_at_once = 64;

    /// Arms the slot of the session: the next change of any lock is told by a hint, or by
    /// `look_stirred`.
    outcome<nothing> watch();

    /// Tells by a notice whether a lock has changed since `watch`, after waiting for a change that
    /// is under way.
    outcome<nothing> look_stirred();

    /// Looks which hints are true, and reports those in notices.
    outcome<nothing> verify(const std::vector<hint>& hints);

    // Any thread.
    /// Declares the session dead because the client has gone: others may take what it held. Does
    /// nothing in a forked child, since the session is the parent's.
    void abandon() noexcept;
    /// Gives up a session that cannot go on; another one can begin.
    void forget_session() noexcept;
    std::shared_ptr<own_session> session() const;
    std::string explain() const;
    void remember(const error& why);
    const std::string& path() const noexcept { return files_.path(); }
    /// Until when nothing is granted; the clock's epoch if the quarantine is over.
    clock::time_point quarantine_until() const noexcept;

private:
    /// Does its work on the rows. It may be called again after a rollback, so it must set its
    /// results anew.
    using work = std::function<error_code(core::lock_engine&, sql_rows&)>;

    /// Opens the store if needed, runs `body`, and answers with the error that it or the
    /// connection ended with.
    template <class T, class Body>
    outcome<T> guarded(Body body);
    template <class T, class Body>
    outcome<T> read_if_there(Body body);
    void open_if_needed(std::vector<notice>& notices);
    void close_all() noexcept;
    clock::time_point now() const noexcept { return time_->now(); }

    // sqlite_state.cpp
    error_code transact(
        core::session_key actor,
        std::span<lock_operation* const> done,
        std::vector<notice>& notices,
        const work& body
    );
    /// The same without a session, where nothing can be refused.
    void serve(std::vector<notice>& notices, const work& body);
    error_code attempt(
        core::session_key actor, const work& body, std::vector<core::effect>& effects, bool& again
    );
    [[noreturn]] void fail();
    [[noreturn]] void give_up_connection();
    void refuse_if_replaced();
    void checkpoint_if_due();
    void write_break(const break_order& order, std::uint32_t slot, const std::string& holder);
    error_code check_actor(const own_session& session);
    session_view view_of(const own_session& session);
    lock_reader reader();

    // sqlite_sessions.cpp
    void start_session(const session_start& start, opened_session& opened);
    neighbour
    insert_session(const session_start& start, std::uint64_t nonce, clock::time_point now);
    error_code prove_again(
        const std::shared_ptr<own_session>& own, const session_start& start, opened_session& opened
    );
    void abandon_session(const std::shared_ptr<own_session>& session) noexcept;
    bool reap_some(const std::vector<neighbour>& proved_dead, std::vector<notice>& notices);
    void reap_all(std::vector<notice>& notices);
    clock::duration quarantine_left() const;
    void wake_after_quarantine(std::vector<notice>& notices);
    bool alone() const noexcept;

    const coro::detail::fork_guard process_;
    const std::shared_ptr<coro::time_source> time_;
    store_files files_;
    session_index index_;
    commit_news news_{files_, index_};
    std::uint64_t generation_ = 0;
    std::size_t checkpoint_at_ = 0;
    token_domain domain_;
    bool quarantine_over_ = true;
    bool not_begun_ = false;  // the last transaction: SQLite was busy all the time

    std::atomic<clock::rep> quarantine_until_{0};
    mutable std::mutex mutex_;
    std::shared_ptr<own_session> session_;  // under the mutex
    std::string explanation_;               // under the mutex
    bool abandoned_ = false;                // under the mutex
};

template <class T, class Body>
outcome<T> sqlite_state::guarded(Body body) {
    outcome<T> out;
    try {
        open_if_needed(out.notices);
        out.code = body(out);
        if (files_.db().failed())
            fail();
    } catch (const error& why) {
        remember(why);
        out.code = why.code();
    }
    return out;
}

}  // namespace mortise::store_detail

#endif
