// SPDX-License-Identifier: BSL-1.0
// Runs the simulation for a range of seeds. The last line of a failed run is the command that
// replays it.
#include "sim/backend.hpp"
#include "sim/bugs.hpp"
#include "sim/scenario.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace mortise::test {
namespace {

struct settings {
    std::string store = "server";
    std::uint64_t first = 1;
    std::uint64_t count = 1;
    double seconds = 0;  ///< If not zero: run as many seeds as fit into that time.
    std::uint64_t twice_every = 20;
    std::string bug;
    bool verbose = false;
    bool trace = false;
};

struct totals {
    std::uint64_t steps = 0;
    std::uint64_t grants = 0;
    std::uint64_t faults = 0;
    std::uint64_t refused = 0;
    std::uint64_t lost_unfenced = 0;
};

void show(std::uint64_t seed, const sim_outcome& out) {
    std::printf(
        "seed %llu: %llu steps, %llu grants, %llu errors, %llu faults, %llu writes, %llu refused, "
        "%llu lost without a fence, hash %016llx\n",
        static_cast<unsigned long long>(seed),
        static_cast<unsigned long long>(out.steps),
        static_cast<unsigned long long>(out.grants),
        static_cast<unsigned long long>(out.errors),
        static_cast<unsigned long long>(out.faults),
        static_cast<unsigned long long>(out.writes),
        static_cast<unsigned long long>(out.refused),
        static_cast<unsigned long long>(out.lost_unfenced),
        static_cast<unsigned long long>(out.event_hash)
    );
}

// Runs a seed, and some seeds twice: nothing depends on the machine, so both runs must be alike.
std::string judge_run(const settings& how, std::uint64_t seed, sim_outcome& out) {
    out = run_scenario(how.store, seed, how.trace);
    if (!out.verdict.empty())
        return out.verdict;
    if (how.twice_every != 0 && seed % how.twice_every == 0 &&
        run_scenario(how.store, seed).event_hash != out.event_hash)
        return "the second run of this seed was another one";
    return {};
}

int run_all(const settings& how) {
    const auto begin = std::chrono::steady_clock::now();
    totals sum;
    std::uint64_t seed = how.first;
    const auto more = [&] {
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
        return how.seconds > 0 ? passed.count() < how.seconds : seed < how.first + how.count;
    };
    for (; more(); ++seed) {
        sim_outcome out;
        const std::string verdict = judge_run(how, seed, out);
        if (how.verbose || !verdict.empty())
            show(seed, out);
        if (!verdict.empty()) {
            std::printf("%s\n", verdict.c_str());
            if (!how.bug.empty()) {
                std::printf(
                    "found %s at seed %llu\n",
                    how.bug.c_str(),
                    static_cast<unsigned long long>(seed)
                );
                return 0;
            }
            std::printf(
                "replay with: ./run sim --store %s --seed %llu --trace\n",
                how.store.c_str(),
                static_cast<unsigned long long>(seed)
            );
            return 1;
        }
        sum.steps += out.steps;
        sum.grants += out.grants;
        sum.faults += out.faults;
        sum.refused += out.refused;
        sum.lost_unfenced += out.lost_unfenced;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf(
        "%llu seeds in %.1f s: %llu steps, %llu grants, %llu faults, %llu late writes refused, "
        "%llu updates lost without a fence\n",
        static_cast<unsigned long long>(seed - how.first),
        took.count(),
        static_cast<unsigned long long>(sum.steps),
        static_cast<unsigned long long>(sum.grants),
        static_cast<unsigned long long>(sum.faults),
        static_cast<unsigned long long>(sum.refused),
        static_cast<unsigned long long>(sum.lost_unfenced)
    );
    if (!how.bug.empty()) {
        std::printf("%s was not found\n", how.bug.c_str());
        return 1;
    }
    constexpr std::uint64_t enough_to_break = 200;
    if (seed - how.first >= enough_to_break && sum.lost_unfenced == 0) {
        std::printf("nothing broke where there was no fence: this simulation proves nothing\n");
        return 1;
    }
    return 0;
}

}  // namespace
}  // namespace mortise::test

int main(int argc, char** argv) {
    mortise::test::settings how;
    CLI::App app("Simulates processes, a network and a store, and judges what the locks promise.");
    const auto stores = mortise::test::backend_names();
    app.add_option("--store", how.store, "the store")->check(CLI::IsMember(stores));
    app.add_option("--seed", how.first, "the first seed");
    app.add_option("--seeds", how.count, "how many");
    app.add_option("--seconds", how.seconds, "as many seeds as fit into that time");
    app.add_option("--twice-every", how.twice_every, "run every n-th seed twice; 0: none");
    app.add_option("--bug", how.bug, "plant this bug, and fail if it is not found")
        ->check(CLI::IsMember(mortise::test::bug_names()));
    app.add_flag("--verbose", how.verbose, "a line for each seed");
    app.add_flag("--trace", how.trace, "tell what happens");
    CLI11_PARSE(app, argc, argv);
    mortise::test::plant_bug(how.bug);
    return mortise::test::run_all(how);
}
