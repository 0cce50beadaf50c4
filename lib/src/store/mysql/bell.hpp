// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_MYSQL_BELL_HPP
#define MORTISE_STORE_MYSQL_BELL_HPP

#include "store/mysql/store_connection.hpp"
#include "store/sql/sql_gateway.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace mortise::store_detail {

/// Hears pushes: a connection that waits at the server until somebody kills its statement.
///
/// The statement reads how often the session was rung, and if that number is the known one, waits
/// for a named lock that the command connection of the session keeps. Whoever has a push for the
/// session advances the number, commits, and then sends `KILL QUERY`. A kill before the statement
/// comes after the commit, so the statement sees the new number; a later one ends the wait; one
/// that comes too late hits the next statement, which is sent again. `SLEEP` must not be used to
/// wait: its kill takes a mutex of the whole server, and takes seconds when many wait.
///
/// The answer has the locks that the session holds, as far as they are few, so a grant needs no
/// second message. What their marks do not explain becomes `look_again`.
///
/// @par Threads   The strand.
/// @par Lifetimes Owned by a `shared_ptr`; its coroutine keeps it.
class bell : public std::enable_shared_from_this<bell> {
public:
    using push_function = std::function<void(const sql_push&)>;

    /// Numbers of a session that grow.
    struct numbers {
        static numbers of(const db::row& session);

        std::uint64_t changes = 0;
        std::uint64_t rings = 0;    ///< With each push.
        std::uint64_t notices = 0;  ///< With each change that it was told of because it watched.
    };

    /// @param ended called when the connection has ended by itself.
    bell(
        const asio::any_io_executor& strand,
        std::shared_ptr<store_connection> connection,
        push_function pushed,
        std::function<void()> ended
    );

    const std::shared_ptr<store_connection>& connection() const noexcept { return connection_; }

    /// Listens for the session from now on.
    /// @param own_lock the name of the lock that the command connection keeps.
    /// @param known    what is known of the session.
    void listen(core::session_key key, std::string own_lock, numbers known);

    /// The session is about to watch: what it is told from now on is held back until `watches`.
    void will_watch() noexcept { ++beginning_; }
    /// It watches, and has had so many notices before.
    void watches(std::uint64_t notices);
    void close() noexcept;

private:
    asio::awaitable<void> run(std::shared_ptr<bell> self);
    mysql_parts question() const;
    bool hear(const std::vector<part_answer>& answers);
    void push(store_event::kind kind, std::uint64_t times);
    void tell_watcher();
    std::uint64_t tell_of_locks(const std::vector<db::row>& locks);
    void push(sql_push event);

    const asio::any_io_executor strand_;
    const std::shared_ptr<store_connection> connection_;
    const push_function pushed_;
    const std::function<void()> ended_;
    core::session_key key_ = 0;
    std::string own_lock_;
    numbers seen_;
    std::uint64_t notified_ = 0;             ///< So many changes need not be told any more.
    std::uint64_t beginning_ = 0;            ///< Calls of `will_watch` without `watches`.
    std::map<request_id, sql_stamp> known_;  ///< The grants of the newest answer.
    bool closed_ = false;
};

}  // namespace mortise::store_detail

#endif
