// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_POSTGRES_POOL_HPP
#define MORTISE_DB_POSTGRES_POOL_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/db/postgres_config.hpp"
#include "postgres/pg_connection.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <vector>

namespace mortise::db::detail {

using postgres_detail::pg_connection;
using postgres_detail::pg_failure;

/// The connections of a session, and those who wait for one, first come, first served.
///
/// Connections are opened when somebody waits for one, up to `connections_max`. Whoever waits the
/// longest gets the next one that is free or opened, or the reason why one could not be opened.
///
/// @par Threads The strand. Receivers are called there, maybe from inside.
class postgres_pool final : public std::enable_shared_from_this<postgres_pool> {
public:
    using connection = std::shared_ptr<pg_connection>;
    /// Gets a connection without a transaction, or a failure.
    using receiver = std::function<void(pg_failure, connection)>;
    using ticket = std::uint64_t;

    postgres_pool(
        asio::any_io_executor strand,
        std::shared_ptr<const postgres_config> settings,
        std::shared_ptr<coro::time_source> time,
        pg_connection::beside run_beside
    );

    /// Waits for a connection, for `wait_max` at most.
    ticket take(receiver then);
    /// Ends a wait without a call. False if it has ended by itself.
    bool withdraw(ticket waiting);
    /// Takes a connection back. One that cannot serve others is closed.
    void give_back(const connection& used);

    /// Hands out no more, and closes each connection that nobody uses. Calls `then` when none is
    /// left.
    void stop(std::function<void()> then);
    /// Closes also those that are in use.
    void close_all(const pg_failure& why);
    /// Lets go of everything without a call.
    void drop() noexcept;

    std::size_t connections() const noexcept { return all_.size(); }
    std::size_t waiting() const noexcept { return waiters_.size(); }
    std::uint64_t opened() const noexcept { return opened_; }
    std::uint64_t failed() const noexcept { return failed_; }

private:
    struct waiter {
        ticket id = 0;
        receiver then;
        coro::detail::alarm limit;
    };
    struct record {
        clock::time_point born;
        clock::time_point idle_since;
        coro::detail::alarm limit;  ///< Of a question for a sign of life.
    };

    void serve();
    void open_one();
    void opened(const connection& fresh, const pg_failure& why);
    void probe(const connection& idle);
    void hand(const connection& free);
    void answer_first(pg_failure why, const connection& free);
    bool too_old(const connection& each) const;
    void discard(const connection& closed);
    void end_if_empty();

    const asio::any_io_executor strand_;
    const std::shared_ptr<const postgres_config> settings_;
    const std::shared_ptr<coro::time_source> time_;
    const pg_connection::beside run_beside_;
    std::map<connection, record> all_;
    std::vector<connection> idle_;  ///< The one that was used last comes last, and is used next.
    std::list<waiter> waiters_;
    std::size_t coming_ = 0;  ///< Connections that are opened or probed for those who wait.
    ticket last_ = 0;
    std::uint64_t opened_ = 0;
    std::uint64_t failed_ = 0;
    bool stopped_ = false;
    std::function<void()> at_end_;
};

}  // namespace mortise::db::detail

#endif
