// SPDX-License-Identifier: BSL-1.0
#include "storm/report.hpp"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace mortise::storm {
namespace {

using figures = std::vector<std::pair<std::string, std::uint64_t>>;

figures figures_of(const round& result) {
    figures found{
        {"acquisitions", result.logs.grants},
        {"kills", result.kills},
        {"stops", result.stops},
        {"stops_beyond_ttl", result.long_stops},
        {"stops_in_a_transaction", result.inside_stops},
        {"cancels", result.logs.cancelled},
        {"time_outs", result.logs.busy},
        {"cut_off", result.logs.cut_off},
        {"leases_lost", result.logs.lost},
        {"writes", result.writes},
        {"refused_by_the_fence", result.refused},
        {"store_away", result.logs.store_away},
        {"failed", result.logs.failed},
        {"overlaps", result.logs.overlaps},
        {"falling_tokens", result.logs.falling_tokens}};
    found.insert(found.end(), result.store_blows.begin(), result.store_blows.end());
    return found;
}

std::string json_of(const char* name, const spread& times) {
    char text[160];
    std::snprintf(
        text,
        sizeof text,
        "\"%s\":{\"count\":%llu,\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f}",
        name,
        static_cast<unsigned long long>(times.count),
        times.p50_ms,
        times.p99_ms,
        times.max_ms
    );
    return text;
}

void print_spread(const char* name, const spread& times) {
    std::printf(
        "  %-28s %6llu   p50 %9.3f ms   p99 %9.3f ms   max %9.3f ms\n",
        name,
        static_cast<unsigned long long>(times.count),
        times.p50_ms,
        times.p99_ms,
        times.max_ms
    );
}

}  // namespace

void print(const settings& how, const round& result) {
    std::printf(
        "seed %llu: %zu processes at %s\n",
        static_cast<unsigned long long>(how.seed),
        how.processes,
        how.store.c_str()
    );
    std::string json = "{\"seed\":" + std::to_string(how.seed) + ",\"store\":\"" + how.store +
                       "\",\"processes\":" + std::to_string(how.processes);
    for (const auto& [name, count] : figures_of(result)) {
        std::printf("  %-28s %6llu\n", name.c_str(), static_cast<unsigned long long>(count));
        json += ",\"" + name + "\":" + std::to_string(count);
    }
    print_spread("hand_off", result.logs.hand_off);
    print_spread("take_over_of_killed", result.logs.after_kill);
    print_spread("take_over_of_stopped", result.logs.after_stop);
    for (const std::string& each : result.verdict)
        std::printf("  FAILED: %s\n", each.c_str());
    if (!result.trace.empty())
        std::printf("  all that happened is in %s\n", result.trace.c_str());
    json += ',' + json_of("hand_off", result.logs.hand_off) + ',' +
            json_of("take_over_of_killed", result.logs.after_kill) + ',' +
            json_of("take_over_of_stopped", result.logs.after_stop) +
            ",\"passed\":" + (result.verdict.empty() ? "true" : "false") + '}';
    std::printf("%s\n", json.c_str());
    std::fflush(stdout);
}

}  // namespace mortise::storm
