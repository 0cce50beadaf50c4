// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_MYSQL_SESSION_HPP
#define MORTISE_MYSQL_SESSION_HPP

#include "db/turn_queue.hpp"
#include "mortise/coro/detail/strand_seat.hpp"
#include "mortise/db/bound_sql.hpp"
#include "mortise/db/mysql_stats.hpp"
#include "mortise/db/query_result.hpp"
#include "mortise/db/transaction_mark.hpp"
#include "mysql/mysql_place.hpp"
#include "mysql/mysql_wire.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_type.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mortise::db::detail {

class mysql_session;

/// A filter that passes every signal on as `terminal`, which each operation heeds.
struct as_terminal {
    asio::cancellation_type_t operator()(asio::cancellation_type_t type) const noexcept {
        using kind = asio::cancellation_type;
        return type == kind::none ? kind::none : kind::terminal;
    }
};

/// A connection that is taken out of the pool. Whoever has left it in order says so by `keep`;
/// otherwise it is closed, not put back.
class mysql_lease {
public:
    mysql_lease(std::shared_ptr<mysql_session> session, turn mine) noexcept;
    mysql_lease(mysql_lease&&) noexcept = default;
    mysql_lease& operator=(mysql_lease&&) = delete;
    ~mysql_lease();

    const std::shared_ptr<mysql_wire>& wire() const noexcept { return wire_; }
    void set(std::shared_ptr<mysql_wire> wire) noexcept { wire_ = std::move(wire); }
    /// Puts the connection back, if it is of use.
    void keep() noexcept;

private:
    turn turn_;  // declared first: given back when the connection is back or gone
    std::shared_ptr<mysql_session> session_;
    std::shared_ptr<mysql_wire> wire_;
};

/// The pool of connections to one server.
///
/// @par Threads Any, for all members. Coroutines run on the executor of whoever awaits them.
class mysql_session : public std::enable_shared_from_this<mysql_session>,
                      public coro::detail::shutdown_hook {
public:
    mysql_session(asio::any_io_executor executor, mysql_config config);
    ~mysql_session() override;

    /// Call it once, before anybody else has the session.
    void attach();

    const asio::any_io_executor& executor() const noexcept { return seat_.executor(); }
    const mysql_config& config() const noexcept { return place_->config; }
    coro::time_source& time() const noexcept { return place_->time(); }
    mysql_counts& counts() const noexcept { return *counts_; }
    mysql_stats stats() const;
    /// The seed of the pauses of one more transaction.
    std::uint64_t jitter_seed() noexcept { return seed_ + seeds_++; }

    /// Takes a connection that answers, or makes one. @throws error, system_error
    asio::awaitable<mysql_lease> take();
    /// Makes a new connection, for the same place in the pool. @throws error, system_error
    asio::awaitable<std::shared_ptr<mysql_wire>> connect();
    /// Runs one statement by itself. @throws error, system_error
    asio::awaitable<query_result> run(bound_sql statement);
    /// Looks up the outcome of a transaction; one that was not committed can then not be committed
    /// later, either. @throws error, system_error
    asio::awaitable<transaction_outcome> look_up(transaction_mark mark);
    /// Makes the table of outcomes if it is not there. @throws error, system_error
    asio::awaitable<void> make_outcome_table();

    bool stopped() const;
    void put_back(std::shared_ptr<mysql_wire> wire) noexcept;
    /// Aborts all who wait, and later comers; closes connections that nobody uses.
    void stop() noexcept;
    turn_queue& turns() const noexcept { return *turns_; }

private:
    void shut_down() noexcept override;
    void leave_to_parent() noexcept;
    std::shared_ptr<mysql_wire> pop_idle();
    bool outlived(const mysql_wire& wire) const;
    void close(std::vector<std::shared_ptr<mysql_wire>> wires) noexcept;

    coro::detail::strand_seat seat_;
    const std::shared_ptr<mysql_place> place_;
    const std::shared_ptr<mysql_counts> counts_;
    const std::shared_ptr<turn_queue> turns_;
    const std::uint64_t seed_;
    std::atomic<std::uint64_t> seeds_{0};
    mutable std::mutex mutex_;
    std::vector<std::shared_ptr<mysql_wire>> idle_;  ///< The last one was used last.
    bool stopped_ = false;
};

}  // namespace mortise::db::detail

#endif
