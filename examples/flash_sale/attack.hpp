// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_ATTACK_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_ATTACK_HPP

#include "flash_sale/crowd.hpp"
#include "mortise/coro/clock.hpp"

#include <optional>
#include <random>
#include <span>

namespace flash_sale {

/// Kills and stops those who hold the lock, at random, a few times. Who is stopped goes on when
/// somebody else has the lock and has raised the fence: then its write comes too late for sure.
class attack {
public:
    explicit attack(crowd& whom) : whom_(whom) {}

    /// To be called with what was told since the last call, also if that is nothing.
    void see(std::span<const sale_event> fresh);

    int killed() const noexcept { return killed_; }
    /// Those who were stopped until somebody else had the lock.
    int stopped() const noexcept { return stopped_; }

private:
    void resume_victim();
    void strike(int holder);

    crowd& whom_;
    std::mt19937 dice_{std::random_device()()};
    int holders_ = 0;  // seen so far
    int killed_ = 0;
    int stopped_ = 0;
    std::optional<int> victim_;  // which is stopped just now
    mortise::clock::time_point since_;
};

}  // namespace flash_sale

#endif
