// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_FORWARDING_WIRE_HPP
#define MORTISE_STORE_REDIS_FORWARDING_WIRE_HPP

#include "store/redis/redis_wire.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::store_detail {

/// A wire that first finds out where to connect, and then leads there by another one, `wire_`.
///
/// @par Threads One strand.
class forwarding_wire : public redis_wire,
                        public std::enable_shared_from_this<forwarding_wire>,
                        protected redis_wire_events {
public:
    asio::awaitable<redis_failure> subscribe(std::string channel) final {
        return wire_->subscribe(std::move(channel));
    }
    asio::awaitable<result<redis_value>> call(redis_command command) final {
        return wire_->call(std::move(command));
    }
    asio::awaitable<result<std::vector<redis_value>>> pipeline(std::vector<redis_command> commands
    ) final {
        return wire_->pipeline(std::move(commands));
    }
    asio::awaitable<result<std::vector<redis_value>>>
    write_and_wait(redis_command write, unsigned replicas, std::chrono::milliseconds limit) final {
        return wire_->write_and_wait(std::move(write), replicas, limit);
    }
    std::optional<clock::time_point> last_sign() const noexcept final {
        return wire_ ? wire_->last_sign() : std::nullopt;
    }
    void abandon(clock::duration patience) noexcept final {
        if (wire_)
            wire_->abandon(patience);
        close();
    }

protected:
    void on_push(redis_value push) noexcept final { events_->on_push(std::move(push)); }
    bool listens() const noexcept final { return events_->listens(); }
    void on_closed(redis_failure why) noexcept override {
        if (closed_)
            return;
        const auto kept = shared_from_this();
        close();
        events_->on_closed(std::move(why));
    }

    redis_wire_events* events_ = nullptr;
    std::shared_ptr<redis_wire> wire_;
    bool closed_ = false;
};

}  // namespace mortise::store_detail

#endif
