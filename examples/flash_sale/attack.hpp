// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_ATTACK_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_ATTACK_HPP

#include "flash_sale/crowd.hpp"
#include "mortise/coro/clock.hpp"

#include <optional>
#include <random>
#include <span>

namespace flash_sale {

/// Kills and stops holders of the lock, at random, a few times. A stopped holder resumes when
/// somebody else has the lock and has raised the fence: its write then surely comes too late.
class attack {
public:
    explicit attack(crowd& holders) : crowd_(holders) {}

    /// Call this with the events since the last call, even if there are none.
    void see(std::span<const sale_event> fresh);

    int killed() const noexcept { return killed_; }
    /// Holders stopped until somebody else had the lock.
    int stopped() const noexcept { return stopped_; }

private:
    void resume_victim();
    void strike(int holder);

    crowd& crowd_;
    std::mt19937 dice_{std::random_device()()};
    int holders_ = 0;  // seen so far
    int killed_ = 0;
    int stopped_ = 0;
    std::optional<int> victim_;  // the one that is stopped now
    mortise::clock::time_point since_;
};

}  // namespace flash_sale

#endif
