// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_SENTINEL_CIRCLE_HPP
#define MORTISE_STORE_REDIS_SENTINEL_CIRCLE_HPP

#include "mortise/coro/event.hpp"
#include "store/redis/greeting.hpp"
#include "store/redis/redis_wire.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mortise::store_detail {

/// Where sentinels say that a primary is, or why that is not known.
struct named_primary {
    named_primary() = default;

    redis_failure failure;
    std::string host;
    std::uint16_t port = 0;
    bool by_most = false;  ///< More than half of the sentinels say so.

    bool same_place(const named_primary& other) const noexcept {
        return host == other.host && port == other.port;
    }
};

/// The times for which a circle waits.
struct sentinel_patience {
    sentinel_patience() = default;

    /// A sentinel whose connection is open and that answers nothing for this long is left.
    std::chrono::milliseconds answer_max{2'000};
    /// While all is quiet the sentinels are asked at this interval: a connection that died without
    /// a word would bring no news.
    std::chrono::milliseconds quiet_max{10'000};
};

/// The sentinels of one primary, with a connection to each. All are asked side by side, and what
/// most of them say counts: one that was cut off together with an old primary may not know better.
///
/// @par Threads One strand.
class sentinel_circle : public std::enable_shared_from_this<sentinel_circle> {
public:
    /// @param listens whether the connections stay open to be told of a change.
    sentinel_circle(
        const asio::any_io_executor& strand,
        const std::vector<wire_settings>& sentinels,
        std::string primary_name,
        bool listens,
        sentinel_patience patience = {}
    );
    ~sentinel_circle();
    sentinel_circle(const sentinel_circle&) = delete;
    sentinel_circle& operator=(const sentinel_circle&) = delete;

    /// Asks where the primary is. Once more than half of the sentinels agree, their answer is
    /// taken; otherwise, a moment after the first answer, the one that most of them have given.
    /// Must not be called while another question is under way.
    asio::awaitable<named_primary> find();

    /// Calls `moved` once, when the sentinels name another place than `here`. They are asked again
    /// when one of them tells of a change, when one can be reached that could not, and when all
    /// were quiet for `quiet_max`.
    void watch(named_primary here, std::function<void()> moved);

    /// Closes all connections; nothing is told any longer.
    void close() noexcept;

private:
    class seat;

    asio::awaitable<void>
    ask(std::shared_ptr<sentinel_circle> self, std::shared_ptr<seat> sentinel);
    asio::awaitable<void> check(std::shared_ptr<sentinel_circle> self);
    void look_again();
    void look_later();
    /// What the answers say so far; a failure if nothing can be learned, no host if more may come.
    named_primary verdict(bool late) const;

    const asio::any_io_executor strand_;
    const std::string primary_name_;
    const bool listens_;
    const sentinel_patience patience_;
    std::vector<std::shared_ptr<seat>> seats_;
    coro::event news_;  ///< A sentinel has answered, or never will.
    asio::steady_timer retry_;
    std::chrono::milliseconds pause_{};
    named_primary here_;
    std::function<void()> moved_;
    bool checking_ = false;
    bool check_again_ = false;
    bool closed_ = false;
};

/// The sentinels that know the primary, and how to connect to it.
struct sentinel_settings {
    sentinel_settings() = default;

    std::vector<wire_settings> sentinels;
    std::string primary_name;
    wire_settings server;  ///< Without host and port, which the sentinels tell.
    /// The newest answer of the sentinels, shared by all wires of a store; used when no sentinel
    /// can be reached.
    std::shared_ptr<named_primary> remembered;
};

/// Makes a wire to the server that most sentinels name as the primary when it is opened; a server
/// that is not the primary refuses by itself. If the owner of the wire listens, so does the wire at
/// the sentinels: it closes when they name another server.
std::shared_ptr<redis_wire>
make_sentinel_wire(const boost::asio::any_io_executor& strand, sentinel_settings settings);

}  // namespace mortise::store_detail

#endif
