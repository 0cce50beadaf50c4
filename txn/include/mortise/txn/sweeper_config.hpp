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

/// How often a sweeper looks, and how fast it asks. Durations: one millisecond to one day.
class sweeper_config {
public:
    sweeper_config() = default;  // declared: no aggregate (docs/compilers.md, G3)

    /// It looks when the next reservation that it knows of becomes overdue, and at least so often.
    std::chrono::milliseconds look_every{5'000};
    /// Reservations that it knows of at a time: 1 to 1,000,000.
    std::size_t look_max = 10'000;

    std::chrono::milliseconds ask_pause{10};    ///< Between two questions.
    std::chrono::milliseconds ask_max{10'000};  ///< For one answer.

    /// The pause before the same is asked again: drawn evenly up to a bound, which doubles from the
    /// first to the last of these.
    std::chrono::milliseconds retry_first{1'000};
    std::chrono::milliseconds retry_max{60'000};

    /// Where time comes from; null: the real time.
    std::shared_ptr<coro::time_source> time;

    /// Of the pauses; zero: a random one.
    std::uint64_t jitter_seed = 0;
};

}  // namespace mortise::txn

#endif
