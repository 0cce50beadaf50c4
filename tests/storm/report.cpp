// SPDX-License-Identifier: BSL-1.0
#include "storm/report.hpp"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace mortise::storm {
namespace {

using figures = std::vector<std::pair<std::string, std::uint64_t>>;

figures figures_of(const round& made) {
    figures found{
        {"acquisitions", made.logs.grants},
        {"kills", made.kills},
        {"stops", made.stops},
        {"stops_beyond_ttl", made.long_stops},
        {"stops_in_a_transaction", made.inside_stops},
        {"cancels", made.logs.cancelled},
        {"time_outs", made.logs.busy},
        {"cut_off", made.logs.cut_off},
        {"leases_lost", made.logs.lost},
        {"writes", made.writes},
        {"refused_by_the_fence", made.refused},
        {"store_away", made.logs.store_away},
        {"failed", made.logs.failed},
        {"overlaps", made.logs.overlaps},
        {"falling_tokens", made.logs.falling_tokens}};
    found.insert(found.end(), made.store_blows.begin(), made.store_blows.end());
    return found;
}

std::string json_of(const char* name, const spread& what) {
    char text[160];
    std::snprintf(
        text,
        sizeof text,
        "\"%s\":{\"count\":%llu,\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f}",
        name,
        static_cast<unsigned long long>(what.count),
        what.p50_ms,
        what.p99_ms,
        what.max_ms
    );
    return text;
}

void print_spread(const char* name, const spread& what) {
    std::printf(
        "  %-28s %6llu   p50 %9.3f ms   p99 %9.3f ms   max %9.3f ms\n",
        name,
        static_cast<unsigned long long>(what.count),
        what.p50_ms,
        what.p99_ms,
        what.max_ms
    );
}

}  // namespace

void print(const settings& how, const round& made) {
    std::printf(
        "seed %llu: %zu processes at %s\n",
        static_cast<unsigned long long>(how.seed),
        how.processes,
        how.store.c_str()
    );
    std::string json = "{\"seed\":" + std::to_string(how.seed) + ",\"store\":\"" + how.store +
                       "\",\"processes\":" + std::to_string(how.processes);
    for (const auto& [name, count] : figures_of(made)) {
        std::printf("  %-28s %6llu\n", name.c_str(), static_cast<unsigned long long>(count));
        json += ",\"" + name + "\":" + std::to_string(count);
    }
    print_spread("hand_off", made.logs.hand_off);
    print_spread("take_over_of_killed", made.logs.after_kill);
    print_spread("take_over_of_stopped", made.logs.after_stop);
    for (const std::string& each : made.verdict)
        std::printf("  FAILED: %s\n", each.c_str());
    json += ',' + json_of("hand_off", made.logs.hand_off) + ',' +
            json_of("take_over_of_killed", made.logs.after_kill) + ',' +
            json_of("take_over_of_stopped", made.logs.after_stop) +
            ",\"passed\":" + (made.verdict.empty() ? "true" : "false") + '}';
    std::printf("%s\n", json.c_str());
    std::fflush(stdout);
}

}  // namespace mortise::storm
