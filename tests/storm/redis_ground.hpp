// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_REDIS_GROUND_HPP
#define MORTISE_TESTS_STORM_REDIS_GROUND_HPP

#include "storm/fault_dice.hpp"
#include "storm/ground.hpp"
#include "storm/settings.hpp"
#include "support/redis_proxy.hpp"
#include "support/redis_server.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstdint>

namespace mortise::storm {

/// A Redis server that forgets everything when it ends. Every second process reaches it through a
/// proxy. The server is stopped, killed and paused, its clients are disconnected, and the proxy
/// holds traffic back; one deed at a time, with rests.
class redis_ground final : public ground {
public:
    redis_ground(const settings& how, const asio::any_io_executor& executor);

    std::string url(std::size_t seat) const override;
    void shake(clock::time_point now) override;
    void settle() override;
    std::vector<std::pair<std::string, std::size_t>> blows() const override {
        return dice_.counts();
    }
    std::string residue() override;

private:
    enum class deed : std::uint8_t {
        cut,            ///< Ends all connections through the proxy.
        hold_commands,  ///< Holds traffic to the server, for a while.
        hold_answers,   ///< Holds traffic from the server.
        throw_out,      ///< `CLIENT KILL` for any client.
        pause,          ///< `CLIENT PAUSE`.
        stop,           ///< SIGSTOP, for a while.
        restart,        ///< SIGKILL, then a start without memory.
        flush,          ///< `FLUSHALL`.
        count,
    };
    static constexpr auto deeds = static_cast<std::size_t>(deed::count);

    void begin(deed fault, clock::time_point now);
    void end();

    const std::chrono::milliseconds ttl_;
    test::redis_server server_;
    test::redis_proxy proxy_;
    fault_dice dice_;
    deed present_ = deed::count;  ///< `count` means none.
    clock::time_point due_;
};

}  // namespace mortise::storm

#endif
