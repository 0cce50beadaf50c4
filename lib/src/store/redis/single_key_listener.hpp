// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_SINGLE_KEY_LISTENER_HPP
#define MORTISE_STORE_REDIS_SINGLE_KEY_LISTENER_HPP

#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/time_source.hpp"
#include "store/redis/redis_wire.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>

namespace mortise::store_detail {

/// A connection for subscriptions only, opened with the first of them. They are kept apart from
/// commands because a server answers them by pushes, but refuses them by an error that looks like
/// the reply to a command. A connection that is quiet may be dead: it is asked from time to time.
///
/// @par Threads One strand.
class single_key_listener final : public std::enable_shared_from_this<single_key_listener>,
                                  private redis_wire_events {
public:
    using heard_function = std::function<void(const std::string& channel)>;
    using failed_function = std::function<void(redis_failure)>;

    /// @param heard called when a message comes, and when a channel begins to be heard.
    /// @param failed called when nothing is heard any longer, until `go`.
    single_key_listener(
        asio::any_io_executor strand,
        std::shared_ptr<coro::time_source> time,
        redis_wire_factory wires,
        heard_function heard,
        failed_function failed
    );

    void want(const std::string& channel);
    void forget(const std::string& channel);
    bool hears(const std::string& channel) const { return heard_.contains(channel); }

    /// Subscribes to every wanted channel, on a new connection if there is none.
    void go();
    /// Closes the connection: nothing is heard or told until `go`.
    void close() noexcept;

private:
    void on_push(redis_value push) noexcept override;
    void on_closed(redis_failure why) noexcept override;

    void work();
    asio::awaitable<void> run(std::shared_ptr<single_key_listener> self);
    asio::awaitable<redis_failure> change(const std::string& channel);
    void fail(redis_failure why);
    void watch_silence();
    asio::awaitable<void>
    ping(std::shared_ptr<single_key_listener> self, std::shared_ptr<redis_wire> wire);

    const asio::any_io_executor strand_;
    const std::shared_ptr<coro::time_source> time_;
    const redis_wire_factory wires_;
    const heard_function tell_;
    const failed_function failed_;
    std::shared_ptr<redis_wire> wire_;
    std::set<std::string> wanted_;
    std::set<std::string> heard_;
    std::deque<std::string> changes_;  ///< Channels whose wish must be compared with `heard_`.
    bool working_ = false;
    coro::detail::alarm silence_alarm_;
};

}  // namespace mortise::store_detail

#endif
