// SPDX-License-Identifier: BSL-1.0
// Durations of the command line: within the limits, or refused with the exit code for it.
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "common/time_text.hpp"
#include "fuzz/target.hpp"
#include "mortise/options.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace mortise::fuzz::duration_text_target {
namespace {

using std::chrono::milliseconds;

std::optional<milliseconds> parsed(const std::string& text) {
    try {
        return tool::parse_duration("--wait", text);
    } catch (const tool::failure& why) {
        MORTISE_ASSERT(why.exit_code() == tool::exit_code::usage);
        MORTISE_ASSERT(why.text().find("--wait") != std::string::npos);
        return std::nullopt;
    }
}

}  // namespace

MORTISE_FUZZ_TARGET(duration_text) {
    const auto shown = std::chrono::nanoseconds(in.edge<std::int64_t>());
    MORTISE_ASSERT(!tool::duration_text(shown).empty());

    const auto span = parsed(in.rest());
    if (!span)
        return;
    MORTISE_ASSERT(span->count() >= 0 && *span <= duration_max);
    MORTISE_ASSERT(parsed(std::to_string(span->count()) + "ms") == span);
    MORTISE_ASSERT(
        parsed(std::to_string(span->count() + duration_max.count()) + "ms") ==
        (span->count() == 0 ? std::optional(duration_max) : std::nullopt)
    );
}

}  // namespace mortise::fuzz::duration_text_target
