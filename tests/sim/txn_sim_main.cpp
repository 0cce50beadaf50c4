// SPDX-License-Identifier: BSL-1.0
// Runs the simulation of transactions for a range of seeds. The last line of a failed run is the
// command that replays it.
#include "sim/txn_scenario.hpp"

#include <CLI/CLI.hpp>

#include <stdlib.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace mortise::test {
namespace {

struct settings {
    std::uint64_t first = 1;
    std::uint64_t count = 1;
    double seconds = 0;  ///< If not zero: run as many seeds as fit into that time.
    std::uint64_t twice_every = 20;
    std::string bug;
    bool xa = false;
    bool trace = false;
    bool verbose = false;
};

unsigned long long wide(std::uint64_t value) {
    return value;
}

std::string judge_run(const settings& how, std::uint64_t seed, txn_sim_outcome& out) {
    const auto banks = how.xa ? txn_banks::prepare : txn_banks::reserve;
    out = run_txn_scenario(seed, banks, how.trace);
    if (!out.verdict.empty())
        return out.verdict;
    if (how.twice_every != 0 && seed % how.twice_every == 0 &&
        run_txn_scenario(seed, banks).event_hash != out.event_hash)
        return "the second run of this seed was another one\n";
    return {};
}

int run_all(const settings& how) {
    const auto begin = std::chrono::steady_clock::now();
    const auto passed = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    txn_sim_outcome sum;
    std::uint64_t seed = how.first;
    for (; how.seconds > 0 ? passed() < how.seconds : seed < how.first + how.count; ++seed) {
        txn_sim_outcome out;
        const std::string verdict = judge_run(how, seed, out);
        if (how.verbose)
            std::printf(
                "seed %llu: %llu steps, %llu confirmed, %llu cancelled, %llu faults\n",
                wide(seed),
                wide(out.steps),
                wide(out.confirmed),
                wide(out.cancelled),
                wide(out.faults)
            );
        if (!verdict.empty()) {
            std::printf("%s", verdict.c_str());
            if (!how.bug.empty()) {
                std::printf("found %s at seed %llu\n", how.bug.c_str(), wide(seed));
                return 0;
            }
            std::printf(
                "replay with: ./run sim txn%s --seed %llu --trace\n",
                how.xa ? " --xa" : "",
                wide(seed)
            );
            return 1;
        }
        sum.steps += out.steps;
        sum.confirmed += out.confirmed;
        sum.cancelled += out.cancelled;
        sum.faults += out.faults;
        sum.orphans += out.orphans;
    }
    std::printf(
        "%llu seeds in %.1f s: %llu steps, %llu transfers confirmed, %llu cancelled, %llu faults\n",
        wide(seed - how.first),
        passed(),
        wide(sum.steps),
        wide(sum.confirmed),
        wide(sum.cancelled),
        wide(sum.faults)
    );
    if (!how.bug.empty()) {
        std::printf("%s was not found\n", how.bug.c_str());
        return 1;
    }
    constexpr std::uint64_t enough = 50;
    if (seed - how.first >= enough &&
        (sum.confirmed == 0 || sum.cancelled == 0 || (how.xa && sum.orphans == 0))) {
        std::printf("not both outcomes came, or no orphan: this simulation proves nothing\n");
        return 1;
    }
    return 0;
}

}  // namespace
}  // namespace mortise::test

int main(int argc, char** argv) {
    mortise::test::settings how;
    CLI::App app("Simulates coordinators, banks, locks and a network, and judges the books.");
    app.add_option("--seed", how.first, "the first seed");
    app.add_option("--seeds", how.count, "how many");
    app.add_option("--seconds", how.seconds, "as many seeds as fit into that time");
    app.add_option("--twice-every", how.twice_every, "run every n-th seed twice; 0: none");
    app.add_option("--bug", how.bug, "plant this bug, and fail if it is not found");
    app.add_flag("--xa", how.xa, "banks whose transactions are prepared");
    app.add_flag("--verbose", how.verbose, "a line for each seed");
    app.add_flag("--trace", how.trace, "tell what happens");
    CLI11_PARSE(app, argc, argv);
    if (!how.bug.empty() && ::setenv("MORTISE_PLANT", how.bug.c_str(), 1) != 0)
        return 2;
    return mortise::test::run_all(how);
}
