// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_NODE_CONNECTION_HPP
#define MORTISE_STORE_REDIS_NODE_CONNECTION_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/coro/event.hpp"
#include "store/redis/gathered_calls.hpp"
#include "store/redis/node_connections.hpp"
#include "store/redis/redis_wire.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace mortise::store_detail {

class shared_wire;

/// What a call says whose connection has ended.
redis_failure lost_connection();

/// One connection that several wires share, from its opening to its end.
///
/// @par Lifetimes Its wires and the list of connections own it. It knows its wires by pointers,
/// which they take back.
class node_connection final : public std::enable_shared_from_this<node_connection>,
                              private redis_wire_events {
public:
    node_connection(
        const asio::any_io_executor& strand,
        wire_settings node,
        std::string address,
        std::weak_ptr<node_connections> list
    );

    const std::string& address() const noexcept { return address_; }
    redis_wire& wire() const noexcept { return *wire_; }
    bool unused() const noexcept { return wires_.empty(); }

    void join(shared_wire& wire) { wires_.insert(&wire); }
    void forget(shared_wire& wire) noexcept;
    void leave(shared_wire& wire) noexcept;
    /// Opens the connection, or waits until it is open.
    asio::awaitable<redis_failure> open();

    /// From now on messages of the channel are for that wire.
    void add_channel(const std::string& channel, shared_wire& wire);
    /// Whether the server tells changes of such keys already: it takes a prefix once.
    bool tracks(const std::string& prefix) const { return tracked_.contains(prefix); }
    void note_tracked(const std::string& prefix) { tracked_.insert(prefix); }
    /// Sends the write with those of others that wait, and one `WAIT` after them. A signal of
    /// `stop` ends the call with `outcome_unknown`; the server's answer is then nobody's.
    /// @return the replies to both.
    asio::awaitable<result<std::vector<redis_value>>> write_and_wait(
        redis_command write,
        unsigned replicas,
        std::chrono::milliseconds limit,
        asio::cancellation_slot stop
    );

    void note_call() noexcept;
    void note_answer() noexcept;
    clock::time_point last_answer() const noexcept { return last_answer_; }
    /// When it last answered, or since when an answer is waited for, whichever is later.
    clock::time_point last_sign() const noexcept;

    /// Closes the connection with all of its wires.
    void end(const redis_failure& why) noexcept;
    void close() noexcept;

private:
    void on_push(redis_value push) noexcept override;
    void on_closed(redis_failure why) noexcept override { end(why); }
    shared_wire* reader_of(const redis_value& push) const;

    /// Writes that one `WAIT` follows.
    struct writes {
        writes() = default;

        std::vector<redis_command> commands;
        unsigned replicas = 0;              ///< The most that one of them needs.
        std::chrono::milliseconds limit{};  ///< The longest.
    };
    using replies = result<std::vector<redis_value>>;
    asio::awaitable<replies> carry_out(const writes& all);

    const std::string address_;
    const std::weak_ptr<node_connections> list_;
    const std::shared_ptr<redis_wire> wire_;
    coro::event opened_;
    std::optional<redis_failure> outcome_;  ///< Of the opening.
    bool opening_ = false;
    std::set<shared_wire*> wires_;
    std::map<std::string, shared_wire*, std::less<>> channels_;
    /// Subscriptions of wires that are gone. A server may end a subscription by itself just when it
    /// is told to: the two cannot be told apart, so nothing is unsubscribed from.
    std::size_t left_channels_ = 0;
    std::set<std::string> tracked_;
    std::size_t waiting_ = 0;          ///< The calls without an answer.
    clock::time_point waiting_since_;  ///< When there was a first one again.
    clock::time_point last_answer_;
    gathered_calls<writes, replies> waits_;
};

}  // namespace mortise::store_detail

#endif
