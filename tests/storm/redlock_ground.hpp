// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_REDLOCK_GROUND_HPP
#define MORTISE_TESTS_STORM_REDLOCK_GROUND_HPP

#include "storm/fault_dice.hpp"
#include "storm/ground.hpp"
#include "storm/settings.hpp"
#include "support/redlock_servers.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::storm {

/// Five independent servers that forget everything when they end. Two of them at a time are
/// stopped, killed, flushed or lose their clients, now these, now those.
class redlock_ground final : public ground {
public:
    explicit redlock_ground(const settings& how);

    std::string url(std::size_t seat) const override;
    void shake(clock::time_point now) override;
    void settle() override;
    std::vector<std::pair<std::string, std::size_t>> blows() const override {
        return dice_.counts();
    }
    std::string residue() override;

private:
    enum class deed : std::uint8_t {
        throw_out,  ///< Ends the connections of all clients.
        stop,       ///< SIGSTOP, for a while.
        crash,      ///< SIGKILL, and a start without memory after a while.
        flush,      ///< `FLUSHALL`.
        count,
    };
    static constexpr auto deeds = static_cast<std::size_t>(deed::count);

    /// What harms one server at a time.
    struct hand {
        deed present = deed::count;  ///< `count` means none.
        std::size_t victim = 0;
        clock::time_point due;
    };

    void begin(hand& by, clock::time_point now);
    void end(hand& by);
    std::size_t free_server();

    const std::chrono::milliseconds ttl_;
    test::redlock_servers servers_{5};
    fault_dice dice_;
    std::array<hand, 2> hands_;
};

}  // namespace mortise::storm

#endif
