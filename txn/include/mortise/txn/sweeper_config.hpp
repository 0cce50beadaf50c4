// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_SWEEPER_CONFIG_HPP
#define MORTISE_TXN_SWEEPER_CONFIG_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace mortise::coro {
class time_source;
}

namespace mortise::txn {

/// How often a sweeper looks, and how fast it asks. All durations: one millisecond to one day.
class sweeper_config {
public:
    sweeper_config() = default;  // declared: no aggregate (docs/compilers.md, G3)

    /// The longest time between two looks. A sweeper also looks when the next reservation that it
    /// knows of becomes overdue.
    std::chrono::milliseconds look_every{5'000};
    /// The number of reservations that it keeps in memory: 1 to 1,000,000.
    std::size_t look_max = 10'000;

    std::chrono::milliseconds ask_pause{10};    ///< The pause between two questions.
    std::chrono::milliseconds ask_max{10'000};  ///< The time for one answer.

    /// The pause before a reservation is asked for again: random, evenly distributed up to a bound.
    /// The bound doubles from `retry_first` to `retry_max`.
    std::chrono::milliseconds retry_first{1'000};
    std::chrono::milliseconds retry_max{60'000};

    /// The source of time; null: the real time.
    std::shared_ptr<coro::time_source> time;

    /// The seed of the random pauses; zero: a random seed.
    std::uint64_t jitter_seed = 0;
};

}  // namespace mortise::txn

#endif
