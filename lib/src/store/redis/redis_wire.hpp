// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_REDIS_WIRE_HPP
#define MORTISE_STORE_REDIS_REDIS_WIRE_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/error.hpp"
#include "store/redis/redis_failure.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::store_detail {

/// A command as it is sent: its name and its arguments, which are bytes.
using redis_command = std::vector<std::string>;

redis_command wait_for_replicas(unsigned replicas, std::chrono::milliseconds limit);

/// A value that a server sends (RESP3), with only the kinds that the callers tell apart.
struct redis_value {
    enum class kind : std::uint8_t {
        null,
        number,  ///< An integer; other numbers and truth values are text.
        text,
        error,  ///< `text` begins with a code in capitals, as in "NOAUTH Authentication required."
        array,  ///< Sets and pushes, too; and maps: keys and values in turn.
    };

    redis_value() = default;

    kind type = kind::null;
    std::int64_t number = 0;
    std::string text;
    std::vector<redis_value> items;

    friend bool operator==(const redis_value&, const redis_value&) = default;
};

/// What a connection tells without being asked.
class redis_wire_events {
public:
    /// A push: an array of its kind and its content.
    virtual void on_push(redis_value push) noexcept = 0;

    /// Whether the owner wants to be told what happens at the server.
    virtual bool listens() const noexcept { return true; }

    /// The connection has ended. Called once, after `open` succeeded, and not after `close`.
    virtual void on_closed(redis_failure why) noexcept = 0;

protected:
    ~redis_wire_events() = default;
};

/// Ignores all events, for a wire that is only asked.
class deaf_wire_events final : public redis_wire_events {
    void on_push(redis_value) noexcept override {}
    bool listens() const noexcept override { return false; }
    void on_closed(redis_failure) noexcept override {}
};

/// One connection to one server, from its opening to its end: commands, their replies, and pushes
/// (RESP3). Replies come in the order of the commands; a push may overtake the reply to the command
/// that caused it.
///
/// @par Threads One strand.
class redis_wire {
public:
    virtual ~redis_wire() = default;
    redis_wire() = default;
    redis_wire(const redis_wire&) = delete;
    redis_wire& operator=(const redis_wire&) = delete;

    /// Connects, speaks RESP3, and names the client. Called once.
    /// @return no code if that worked; otherwise what is wrong with the server.
    virtual asio::awaitable<redis_failure> open(redis_wire_events& events) = 0;

    /// Subscribes to a channel and waits until the server confirms it. It is not a `call`, since a
    /// server answers it by a push. Must not run while a call is under way.
    virtual asio::awaitable<redis_failure> subscribe(std::string channel) = 0;

    /// Sends a command and waits for its reply; an error from the server is a reply, too.
    /// @par Errors `store_unavailable`: it was not sent. `outcome_unknown`: the connection was
    /// closed before the reply came.
    virtual asio::awaitable<result<redis_value>> call(redis_command command) = 0;

    /// Sends several commands and waits for all their replies; sends them together if the wire can.
    /// @par Errors As of `call`, if any reply is missing.
    virtual asio::awaitable<result<std::vector<redis_value>>>
    pipeline(std::vector<redis_command> commands);

    /// Sends a write, and then `WAIT` until so many replicas have acknowledged it, at most for
    /// `limit`. Where wires share a connection, one `WAIT` follows the writes of all that wait.
    /// Must not run while another one of this wire is under way.
    /// @return the replies to both.
    /// @par Errors As of `pipeline`.
    virtual asio::awaitable<result<std::vector<redis_value>>>
    write_and_wait(redis_command write, unsigned replicas, std::chrono::milliseconds limit);

    /// Of a connection that others use, too: when the server last answered anybody there, or since
    /// when somebody waits for an answer, whichever is later. Others tell nothing.
    virtual std::optional<clock::time_point> last_sign() const noexcept { return std::nullopt; }

    /// Holds back what is to be written, or no longer: commands of one moment then go out together.
    virtual void hold_back(bool /*held*/) noexcept {}

    /// Closes the connection: pending calls end, and no event is told any longer. Where others
    /// share the connection, it stays open for them: a wait for replicas ends, other calls do when
    /// the server answers or the connection ends.
    virtual void close() noexcept = 0;

    /// Closes a connection whose server owes this wire answers for longer than `patience`. Where
    /// wires share it, all of them end, and the next one opens another: unless the server has
    /// answered somebody in the second half of that time.
    virtual void abandon(clock::duration /*patience*/) noexcept { close(); }
};

/// Makes a new wire for each connection, to the server in the settings. A fault of the settings is
/// told when the wire is opened.
using redis_wire_factory =
    std::function<std::shared_ptr<redis_wire>(const asio::any_io_executor& strand)>;

}  // namespace mortise::store_detail

#endif
