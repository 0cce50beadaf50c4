// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_SERVER_POOL_HPP
#define MORTISE_DB_SERVER_POOL_HPP

#include "db/server_connection.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/alarm.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <vector>

namespace mortise::db::detail {

/// The sizes of a pool. @par Threads Any.
struct pool_counts {
    std::atomic<std::size_t> connections{0};
    std::atomic<std::size_t> idle{0};
    std::atomic<std::size_t> waiting{0};
    std::atomic<std::uint64_t> opened{0};
    std::atomic<std::uint64_t> failed{0};
};

/// The connections of a session, and those who wait for one, first come, first served.
///
/// Connections are opened when somebody waits for one, up to `connections_max`. Whoever waits the
/// longest gets the next one that is free or opened, or the reason why one could not be opened.
///
/// @par Threads The strand. Receivers are called there, maybe from inside.
class server_pool final : public std::enable_shared_from_this<server_pool> {
public:
    using connection = std::shared_ptr<server_connection>;
    /// Gets a connection without a transaction, or a failure.
    using receiver = std::function<void(server_failure, connection)>;
    using ticket = std::uint64_t;
    enum class rank : std::uint8_t { first, last };

    server_pool(
        asio::any_io_executor strand,
        std::shared_ptr<server_place> place,
        std::shared_ptr<coro::time_source> time,
        std::shared_ptr<pool_counts> counts
    );

    /// Waits for a connection, for `wait_max` at most.
    ticket take(receiver then, rank where = rank::last);
    /// Ends a wait without a call. False if it has ended by itself.
    bool withdraw(ticket waiting);
    /// Takes a connection back. One that cannot serve others is closed.
    void give_back(const connection& used);

    /// Hands out no more, and closes each connection that nobody uses. Calls `then` when none is
    /// left.
    void stop(std::function<void()> then);
    /// Closes also those that are in use.
    void close_all(const server_failure& why);
    /// Lets go of everything without a call.
    void drop() noexcept;

private:
    struct waiter {
        ticket id = 0;
        receiver then;
        coro::detail::alarm limit;
    };
    struct record {
        clock::time_point born;
        clock::time_point idle_since;
        bool coming = false;        ///< It is opened or probed for somebody who waits.
        coro::detail::alarm limit;  ///< Of a question for a sign of life.
    };

    const server_limits& limits() const noexcept { return place_->limits(); }
    std::list<waiter>::iterator find(ticket id);
    void expire(ticket late);
    void serve();
    void open_one();
    void opened(const connection& fresh, server_failure why);
    void probe(const connection& idle);
    void probed(const connection& idle, const server_failure& why);
    bool arrives(const connection& coming);
    void hand(const connection& free);
    void answer_first(server_failure why, const connection& free);
    bool too_old(const connection& each) const;
    void discard(const connection& closed);
    void end_if_empty();
    void note_sizes() noexcept;

    const asio::any_io_executor strand_;
    const std::shared_ptr<server_place> place_;
    const std::shared_ptr<coro::time_source> time_;
    const std::shared_ptr<pool_counts> counts_;
    std::map<connection, record> all_;
    std::vector<connection> idle_;  ///< The one that was used last comes last, and is used next.
    std::list<waiter> waiters_;
    std::size_t coming_ = 0;
    ticket last_ = 0;
    bool stopped_ = false;
    std::function<void()> at_end_;
};

}  // namespace mortise::db::detail

#endif
