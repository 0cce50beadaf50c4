// SPDX-License-Identifier: BSL-1.0
#include "mortise/options.hpp"

#include "core/session_fsm.hpp"

#include <string>

namespace mortise {
namespace {

using std::chrono::milliseconds;

std::string text_of(milliseconds value) {
    return std::to_string(value.count()) + " ms";
}

std::optional<error> check_duration(const char* option, milliseconds value, bool endless_allowed) {
    if (value < milliseconds::zero()) {
        return error(
            errc::duration_negative,
            std::string(option) + " = " + text_of(value),
            "use zero or more"
        );
    }
    if (value == milliseconds::max() && endless_allowed)
        return std::nullopt;
    if (value > duration_max) {
        return error(
            errc::duration_too_long,
            std::string(option) + " = " + text_of(value),
            "use at most " + text_of(duration_max) +
                (endless_allowed ? ", or milliseconds::max() for ever" : "")
        );
    }
    return std::nullopt;
}

std::optional<error> check_mode(const lock_options& options) {
    if (options.mode.type() == lock_mode::kind::permits &&
        (options.mode.capacity() == 0 || options.mode.capacity() > lock_mode::capacity_max)) {
        return error(
            errc::bad_mode,
            "permits(" + std::to_string(options.mode.capacity()) + ")",
            "use 1 to " + std::to_string(lock_mode::capacity_max)
        );
    }
    if (options.hold_max == milliseconds::zero())
        return error(errc::bad_config, "hold_max = 0 ms", "use at least 1 ms");
    if (options.hold_max != milliseconds::max() && options.linger != milliseconds::zero()) {
        return error(
            errc::bad_config,
            "linger = " + text_of(options.linger) + " with hold_max = " + text_of(options.hold_max),
            "use one of them: a grant that ends by itself is not kept after its release"
        );
    }
    return std::nullopt;
}

}  // namespace

std::optional<error> check_name(std::string_view name) {
    if (name.empty())
        return error(errc::name_empty, "0 bytes", "use 1 to 1,024 bytes");
    if (name.size() > name_size_max) {
        return error(
            errc::name_too_long,
            std::to_string(name.size()) + " bytes, from \"" + std::string(name.substr(0, 32)) +
                "...\"",
            "use 1 to 1,024 bytes; a digest of the long name will do"
        );
    }
    return std::nullopt;
}

std::optional<error> check_options(const lock_options& options) {
    if (auto wrong = check_duration("wait_max", options.wait_max, true))
        return wrong;
    if (auto wrong = check_duration("hold_max", options.hold_max, true))
        return wrong;
    if (auto wrong = check_duration("linger", options.linger, false))
        return wrong;
    return check_mode(options);
}

std::optional<error> check_config(const client_config& config) {
    if (auto wrong = check_duration("ttl", config.ttl, false))
        return wrong;
    if (auto wrong = check_duration("stop_margin", config.stop_margin, false))
        return wrong;
    if (auto wrong = check_duration("release_budget", config.release_budget, false))
        return wrong;
    if (auto wrong = check_duration("turn_time_max", config.turn_time_max, false))
        return wrong;
    if (config.clock_drift_ppm > 500'000) {
        return error(
            errc::bad_config,
            "clock_drift_ppm = " + std::to_string(config.clock_drift_ppm),
            "use at most 500,000 parts per million"
        );
    }
    if (config.stop_margin * 2 > config.ttl) {
        return error(
            errc::bad_config,
            "stop_margin = " + text_of(config.stop_margin) + " with ttl = " + text_of(config.ttl),
            "use at most half of the TTL"
        );
    }
    const auto timing = core::session_timing::from(config);
    if (timing.ttl != clock::duration::zero() &&
        timing.window - timing.stop_margin <= timing.beat_every) {
        // The holders would be told to stop before a heartbeat could prove the session again.
        return error(
            errc::bad_config,
            "stop_margin = " + text_of(config.stop_margin) + " with ttl = " + text_of(config.ttl) +
                " and clock_drift_ppm = " + std::to_string(config.clock_drift_ppm),
            "use less of either: more than a third of the TTL must be left for the heartbeat"
        );
    }
    if (config.waiters_max == 0)
        return error(errc::bad_config, "waiters_max = 0", "use at least 1");
    if (config.holds_max == 0)
        return error(errc::bad_config, "holds_max = 0", "use at least 1; 1 allows no reentrancy");
    return std::nullopt;
}

}  // namespace mortise
