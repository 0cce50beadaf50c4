// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_CHANGE_WATCH_HPP
#define MORTISE_STORE_REDIS_CHANGE_WATCH_HPP

#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/error.hpp"
#include "store/redis/redis_wire.hpp"
#include "store/redis/store_keys.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mortise::store_detail {

namespace asio = boost::asio;

/// Watches all buckets of a store for the next change of a lock, as a visitor: a client has
/// sessions at few of them. A visitor has an inbox and is told there as a session is.
///
/// @par Threads   The strand.
/// @par Lifetimes Owned by a `shared_ptr`, which its coroutines keep.
class change_watch final : public std::enable_shared_from_this<change_watch> {
public:
    /// A bucket: its keys, and the wires that lead to it.
    struct place {
        place(store_keys all, redis_wire_factory to) : keys(std::move(all)), wires(std::move(to)) {}

        store_keys keys;
        redis_wire_factory wires;
    };

    /// @param limit for the opening of a connection.
    /// @param changed called by a handler of its own, once for each `begin`.
    change_watch(
        asio::any_io_executor strand,
        std::shared_ptr<coro::time_source> time,
        std::chrono::milliseconds limit,
        std::vector<place> places,
        std::function<void()> changed
    );
    ~change_watch();

    /// Watches from now on, until the next change.
    /// @par Errors why a bucket cannot be watched.
    asio::awaitable<error_code> begin();
    /// Asks each bucket whether it still has to tell: this finds a message that was lost.
    void compare();
    /// Leaves no trace at the servers.
    asio::awaitable<void> end();
    /// Closes the connections; nothing is told afterwards.
    void close() noexcept;

private:
    class visitor;
    using reply_of = asio::awaitable<result<redis_value>>;

    void hear();
    void limit(coro::detail::alarm& by, const std::shared_ptr<redis_wire>& wire);
    asio::awaitable<result<bool>> arm(std::shared_ptr<change_watch> self, std::size_t at);
    asio::awaitable<error_code> reach(visitor& at);
    reply_of watch_at(visitor& at);
    asio::awaitable<result<bool>> forget(std::shared_ptr<change_watch> self, std::size_t at);
    asio::awaitable<error_code> arm_all();
    asio::awaitable<void> ask(std::shared_ptr<change_watch> self, std::size_t at);

    const asio::any_io_executor strand_;
    const std::shared_ptr<coro::time_source> time_;
    const std::chrono::milliseconds limit_;
    const std::function<void()> changed_;
    const std::string name_;  ///< Of the visitor, in place of a session's.
    std::vector<std::unique_ptr<visitor>> visitors_;
    std::shared_ptr<coro::event> beginning_;  ///< For whoever begins meanwhile.
    bool armed_ = false;
    bool closed_ = false;
};

}  // namespace mortise::store_detail

#endif
