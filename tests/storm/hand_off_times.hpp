// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_HAND_OFF_TIMES_HPP
#define MORTISE_TESTS_STORM_HAND_OFF_TIMES_HPP

#include "storm/blow.hpp"
#include "storm/record.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace mortise::storm {

/// Times until the next writer had the lock, in nanoseconds; see `judgement`.
class hand_off_times {
public:
    hand_off_times(
        std::span<const record> records, std::span<const blow> blows, std::chrono::nanoseconds ttl
    );

    const std::vector<std::int64_t>& undisturbed() const noexcept { return undisturbed_; }
    const std::vector<std::int64_t>& after_kill() const noexcept { return after_kill_; }
    const std::vector<std::int64_t>& after_stop() const noexcept { return after_stop_; }

private:
    /// An interval in which a waiter or holder of the lock may be stopped or dead.
    struct disturbance {
        std::int64_t from;
        std::int64_t until;
        bool stop;
    };
    struct lock_log {
        std::vector<const record*> grants;  ///< Sorted by time.
        std::vector<const record*> wishes;
        std::vector<disturbance> disturbances;
    };

    void note_disturbances(std::span<const blow> blows);
    void note_releases(const lock_log& log);
    void note_take_overs(const lock_log& log, const blow& strike);
    static bool
    disturbed(const lock_log& log, std::int64_t from, std::int64_t until, bool by_stops_only);

    const std::int64_t ttl_;
    std::map<std::uint32_t, lock_log> logs_;
    std::vector<std::int64_t> undisturbed_;
    std::vector<std::int64_t> after_kill_;
    std::vector<std::int64_t> after_stop_;
};

}  // namespace mortise::storm

#endif
