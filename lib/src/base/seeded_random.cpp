// SPDX-License-Identifier: BSL-1.0
#include "base/seeded_random.hpp"

#include "mortise/coro/assert.hpp"

namespace mortise::detail {
namespace {

thread_local seeded_random* present = nullptr;

}  // namespace

seeded_random::seeded_random(std::uint64_t seed) noexcept : state_(seed) {
    MORTISE_ASSERT(!present);
    present = this;
}

seeded_random::~seeded_random() {
    present = nullptr;
}

seeded_random* seeded_random::current() noexcept {
    return present;
}

// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
std::uint64_t seeded_random::next() noexcept {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
}

}  // namespace mortise::detail
