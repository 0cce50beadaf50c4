// SPDX-License-Identifier: BSL-1.0
#include "flash_sale/attack.hpp"

#include <chrono>

namespace flash_sale {
namespace {

constexpr int blows_max = 3;       // of each kind, so that the sale ends
constexpr int holders_before = 3;  // left alone, so that the sale gets going

// How long to wait for the next holder. None comes if no buyer wants the lock any longer. None
// comes either if the victim was stopped while it had the store's files locked: that stops
// everybody.
constexpr std::chrono::seconds patience{3};

}  // namespace

void attack::see(std::span<const sale_event> fresh) {
    for (const sale_event& each : fresh) {
        if (victim_ && each.type == sale_event::kind::holds && each.process != *victim_) {
            ++stopped_;
            resume_victim();
        }
    }
    if (victim_ && mortise::clock::now() > since_ + patience)
        resume_victim();
    if (!victim_ && !fresh.empty() && fresh.back().type == sale_event::kind::holds)
        strike(fresh.back().process);
}

void attack::resume_victim() {
    crowd_.resume(*victim_);
    victim_.reset();
}

// Stops and kills the first possible holders for certain, later ones by chance.
void attack::strike(int holder) {
    if (++holders_ <= holders_before)
        return;
    const auto chance = std::uniform_int_distribution<int>(0, 11)(dice_);
    if (stopped_ == 0 || (chance == 0 && stopped_ < blows_max)) {
        victim_ = holder;
        since_ = mortise::clock::now();
        if (!crowd_.stop(holder))
            resume_victim();  // too late: it has released the lock
    } else if (killed_ == 0 || (chance == 1 && killed_ < blows_max)) {
        crowd_.replace(holder);
        ++killed_;
    }
}

}  // namespace flash_sale
