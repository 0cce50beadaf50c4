// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_SERVER_GROUND_HPP
#define MORTISE_TESTS_STORM_SERVER_GROUND_HPP

#include "storm/fault_dice.hpp"
#include "storm/ground.hpp"
#include "storm/settings.hpp"
#include "support/store_server.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace mortise::storm {

/// A server, which is stopped, restarted and killed, and whose clients are disconnected;
/// one deed at a time, with rests.
class server_ground final : public ground {
public:
    server_ground(const settings& how, std::unique_ptr<test::store_server> server);

    std::string url(std::size_t seat) const override;
    void shake(clock::time_point now) override;
    void settle() override;
    std::vector<std::pair<std::string, std::size_t>> blows() const override {
        return dice_.counts();
    }
    std::vector<event> events() const override { return events_; }
    std::string residue() override;

private:
    enum class deed : std::uint8_t {
        throw_out,  ///< Ends the connections of all clients.
        stop,       ///< SIGSTOP, for a while.
        restart,    ///< In order, with its data.
        crash,      ///< SIGKILL, then a start.
        count,
    };
    static constexpr auto deeds = static_cast<std::size_t>(deed::count);

    void begin(deed fault, clock::time_point now);

    const std::chrono::milliseconds ttl_;
    const std::unique_ptr<test::store_server> server_;
    fault_dice dice_;
    bool stopped_ = false;
    clock::time_point due_;
    std::vector<event> events_;
};

}  // namespace mortise::storm

#endif
