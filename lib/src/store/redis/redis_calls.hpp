// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_REDIS_CALLS_HPP
#define MORTISE_STORE_REDIS_REDIS_CALLS_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/time_source.hpp"
#include "store/link/answer_watch.hpp"
#include "store/redis/command_lane.hpp"
#include "store/redis/known_scripts.hpp"
#include "store/redis/redis_scripts.hpp"
#include "store/redis/redis_wire.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::store_detail {

using coro::detail::alarm;

/// The calls to a server: on the connection of a session, which keeps them in their order, knows
/// which scripts the server has and watches for answers; or on a passing connection, which is used
/// for nothing else.
///
/// @par Threads The strand.
class redis_calls {
public:
    using wire_ptr = std::shared_ptr<redis_wire>;

    /// `scripts` must outlive this object.
    explicit redis_calls(const redis_scripts& scripts) noexcept
        : scripts_(scripts), known_(scripts) {}

    /// @param owner lives during every call.
    /// @param failed called when the connection is of no use any longer.
    void attach(
        asio::any_io_executor strand,
        std::shared_ptr<coro::time_source> time,
        std::weak_ptr<void> owner,
        std::function<void(redis_failure)> failed
    );

    /// The connection of the session, open or not; null if there is none.
    const wire_ptr& wire() const noexcept { return wire_; }
    void use(wire_ptr wire) noexcept { wire_ = std::move(wire); }
    /// Forgets the connection, and what is known of its server. @return it.
    wire_ptr drop() noexcept;
    /// Closes a connection that is not open in time, or a passing one that still exists by then.
    void close_if_late(alarm& by, const wire_ptr& wire, clock::duration limit);

    /// Runs a script. An error of the server is a reply.
    /// @par Errors `store_unavailable`: there is no such connection any longer. Or of `call`.
    asio::awaitable<result<redis_value>> evaluate(wire_ptr wire, script_call wanted);
    asio::awaitable<result<redis_value>> command(wire_ptr wire, redis_command command);
    /// Loads the scripts before the first call: if the server learned a script between two calls,
    /// it would carry out the second call before the first one is repeated. A user who may not load
    /// scripts sends the text with the first call.
    asio::awaitable<void> load(std::vector<redis_script> wanted);

    answer_watch& answers() noexcept { return answers_; }
    const answer_watch& answers() const noexcept { return answers_; }

private:
    asio::awaitable<result<redis_value>> evaluate_once(wire_ptr wire, script_call wanted);
    asio::awaitable<result<redis_value>> call(wire_ptr wire, redis_command command);
    void leave_lane();
    bool is_watched_by_others() const;
    asio::awaitable<void> ping(std::shared_ptr<void> owner);

    const redis_scripts& scripts_;
    asio::any_io_executor strand_;
    std::shared_ptr<coro::time_source> time_;
    std::weak_ptr<void> owner_;
    wire_ptr wire_;
    std::optional<command_lane> lane_;  ///< Of the present connection, like the next two.
    known_scripts known_;
    answer_watch answers_;
    std::function<void(redis_failure)> failed_;
};

}  // namespace mortise::store_detail

#endif
