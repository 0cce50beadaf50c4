// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_SHARED_WIRE_HPP
#define MORTISE_STORE_REDIS_SHARED_WIRE_HPP

#include "store/redis/node_connection.hpp"

#include <boost/asio/cancellation_signal.hpp>

#include <chrono>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace mortise::store_detail {

/// A user of a connection that several share.
class shared_wire final : public redis_wire, public std::enable_shared_from_this<shared_wire> {
public:
    shared_wire(
        const asio::any_io_executor& strand,
        wire_settings node,
        std::shared_ptr<node_connections> list
    )
        : strand_(strand), node_(std::move(node)), list_(std::move(list)) {}
    // Closes nothing: this may be a forked child, and the connection its parent's.
    ~shared_wire() override {
        if (connection_)
            connection_->forget(*this);
    }

    asio::awaitable<redis_failure> open(redis_wire_events& events) override;
    asio::awaitable<redis_failure> subscribe(std::string channel) override;
    asio::awaitable<result<redis_value>> call(redis_command command) override;
    asio::awaitable<result<std::vector<redis_value>>> pipeline(std::vector<redis_command> commands
    ) override;
    asio::awaitable<result<std::vector<redis_value>>> write_and_wait(
        redis_command write, unsigned replicas, std::chrono::milliseconds limit
    ) override;
    std::optional<clock::time_point> last_sign() const noexcept override;
    void hold_back(bool held) noexcept override {
        if (connection_)
            connection_->wire().hold_back(held);
    }
    void close() noexcept override;
    void abandon(clock::duration patience) noexcept override;

    // The connection tells these.
    void take(redis_value push) noexcept {
        if (open_)
            events_->on_push(std::move(push));
    }
    bool follows(const redis_value& keys) const;
    void ended(const redis_failure& why) noexcept;

private:
    void leave() noexcept;
    asio::awaitable<result<redis_value>> exchange(redis_command command);
    void note_call(node_connection& connection) noexcept;
    void note_answer(node_connection& connection) noexcept;

    const asio::any_io_executor strand_;
    const wire_settings node_;
    const std::shared_ptr<node_connections> list_;
    std::shared_ptr<node_connection> connection_;
    redis_wire_events* events_ = nullptr;
    std::string tracked_;                  ///< The beginning of the keys whose changes it is told.
    std::deque<clock::time_point> asked_;  ///< When the calls under way began.
    std::optional<redis_failure> end_;     ///< Why it ended by itself.
    asio::cancellation_signal stop_;       ///< Of the wait for replicas.
    bool open_ = false;
    bool closed_ = false;
};

}  // namespace mortise::store_detail

#endif
