// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_REPLICA_QUORUM_HPP
#define MORTISE_STORE_REDIS_REPLICA_QUORUM_HPP

#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/store_types.hpp"
#include "store/redis/gathered_calls.hpp"
#include "store/redis/redis_scripts.hpp"
#include "store/redis/redis_wire.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::store_detail {

using coro::detail::alarm;

/// A grant that was written.
struct written_grant {
    request_id id = 0;
    std::uint64_t base = 0;  ///< Of its token.
    std::string lock;        ///< The key of its lock, and that of the lock's crowd of holders.
    std::string crowd;
    /// For how long the server keeps it, if that was extended.
    std::optional<std::chrono::milliseconds> hold_max;
};
using written_grants = std::vector<written_grant>;

/// What the replicas must acknowledge and the server of the second connection must have.
struct written_state {
    written_state() = default;

    std::vector<std::string> keys;  ///< Of the session.
    /// The session's generation, the run of the server, the deadline: the first argument of the
    /// script "confirm".
    std::string session;
    written_grants grants;
};

/// The outcome of a confirmation.
struct quorum_answer {
    quorum_answer() = default;
    quorum_answer(error_code why) : code(why) {}

    error_code code;
    /// The connection leads to another server than the one that was written to.
    bool elsewhere = false;
    /// Grants that the server does not have, in any order.
    std::vector<request_id> missing;
};

/// Waits until replicas have what was written. `WAIT` blocks its connection and counts the last
/// write of that connection: hence a connection of its own, or one that only others of this kind
/// share, on which a script writes before the wait. That connection may lead to another server: so
/// the script writes only where it finds all that was written on the other connections.
///
/// @par Threads The strand.
class replica_quorum final : public std::enable_shared_from_this<replica_quorum> {
public:
    /// @param script finds what was written, writes, and then says "o".
    replica_quorum(
        asio::any_io_executor strand,
        std::shared_ptr<coro::time_source> time,
        unsigned replicas,
        redis_scripts::script script,
        redis_wire_factory wires
    );

    /// Waits until `replicas` of them have acknowledged all that was written before this call.
    /// Calls that come while one is under way are answered together by the next round.
    ///
    /// @param limit for the replicas; a server that is silent for twice as long is given up. Where
    ///              the connection is shared, waits for others may come first.
    /// @par Errors `not_enough_replicas`; `outcome_unknown`: the server does not have what was
    ///             written; or why there is no connection.
    asio::awaitable<quorum_answer> reach(written_state state, std::chrono::milliseconds limit);

    /// Closes the connection. Waiting calls get an error, and no other connection is opened for
    /// them.
    void close() noexcept;

private:
    struct round {
        round() = default;

        written_state state;                ///< The newest session state, and all grants.
        std::chrono::milliseconds limit{};  ///< The limit of the newest call.
    };

    asio::awaitable<quorum_answer> ask(const round& of);
    void watch(
        alarm& by,
        const std::weak_ptr<redis_wire>& wire,
        clock::time_point due,
        clock::duration patience
    );
    asio::awaitable<quorum_answer>
    reach_on(redis_wire& wire, const written_state& state, std::chrono::milliseconds limit);
    redis_command confirmation(const written_state& state, bool known) const;

    const asio::any_io_executor strand_;
    const std::shared_ptr<coro::time_source> time_;
    const unsigned replicas_;
    const redis_scripts::script script_;
    const redis_wire_factory wires_;
    deaf_wire_events deaf_;
    std::shared_ptr<redis_wire> wire_;
    gathered_calls<round, quorum_answer> rounds_;
    bool open_ = false;   ///< `wire_` was opened.
    bool known_ = false;  ///< The server of `wire_` was told the script.
};

}  // namespace mortise::store_detail

#endif
