// SPDX-License-Identifier: BSL-1.0
// Lets many real processes compete for a few locks of one store. Kills and stops them (and a
// server) at random, and judges what they saw. The last line is JSON; a failed run prints how to
// repeat it.
#include "sim/bugs.hpp"
#include "storm/cluster_ground.hpp"
#include "storm/redis_ground.hpp"
#include "storm/redlock_ground.hpp"
#include "storm/report.hpp"
#include "storm/round.hpp"
#include "storm/server_ground.hpp"
#include "storm/sqlite_ground.hpp"
#include "storm/worker.hpp"
#include "support/sql_store_server.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::storm {
namespace {

constexpr std::chrono::seconds round_max{60};
constexpr std::chrono::seconds round_with_bug{10};  // a bug that does harm shows soon

std::unique_ptr<ground> make_ground(const settings& how, const asio::any_io_executor& executor) {
    if (how.store == "redis")
        return std::make_unique<redis_ground>(how, executor);
    if (how.store == "redlock")
        return std::make_unique<redlock_ground>(how);
    if (how.store == "redis_cluster")
        return std::make_unique<cluster_ground>(how);
#ifdef MORTISE_STORE_AT_POSTGRES
    if (how.store == "postgresql")
        return std::make_unique<server_ground>(how, test::make_postgres_store_server());
#endif
#ifdef MORTISE_STORE_AT_MARIADB
    if (how.store == "mysql")
        return std::make_unique<server_ground>(how, test::make_mariadb_store_server());
#endif
#ifdef MORTISE_STORE_AT_ZOOKEEPER
    if (how.store == "zookeeper")
        return std::make_unique<server_ground>(how, test::make_zookeeper_store_server());
    if (how.store == "zookeeper_nodes")
        return std::make_unique<server_ground>(how, test::make_zookeeper_node_server());
#endif
    return std::make_unique<sqlite_ground>();
}

// Runs rounds of at most a minute, each with a new seed, store and set of processes.
int run_all(settings how, std::chrono::seconds span) {
    for (auto left = span; left.count() > 0;) {
        const auto length = std::min(left, how.bug.empty() ? round_max : round_with_bug);
        const round result = run_round(how, length, make_ground);
        print(how, result);
        if (!how.bug.empty() && !result.verdict.empty()) {
            std::printf("found %s\n", how.bug.c_str());
            return 0;
        }
        if (!result.verdict.empty()) {
            std::printf(
                "repeat with: ./run storm --store %s --processes %zu --seed %llu --seconds %lld\n",
                how.store.c_str(),
                how.processes,
                static_cast<unsigned long long>(how.seed),
                static_cast<long long>(length.count())
            );
            return 1;
        }
        left -= length;
        ++how.seed;
    }
    if (how.bug.empty())
        return 0;
    std::printf("%s was not found\n", how.bug.c_str());
    return 1;
}

const std::vector<std::string> stores = {
    "sqlite",
    "redis",
    "redlock",
    "redis_cluster",
#ifdef MORTISE_STORE_AT_POSTGRES
    "postgresql",
#endif
#ifdef MORTISE_STORE_AT_MARIADB
    "mysql",
#endif
#ifdef MORTISE_STORE_AT_ZOOKEEPER
    "zookeeper",
    "zookeeper_nodes",
#endif
};

int run_main(int argc, char** argv) {
    settings how;
    long seconds = 30;
    CLI::App app("Lets real processes fight for locks, kills and stops them, and judges.");
    app.add_option("--seed", how.seed, "of the dice; what the machine does is another matter");
    app.add_option("--seconds", seconds, "how long it rages")->check(CLI::Range(1, 1'000'000));
    app.add_option("--processes", how.processes)->check(CLI::Range(2, int{processes_max}));
    app.add_option("--tasks", how.tasks, "coroutines of each process")->check(CLI::Range(1, 100));
    app.add_option("--store", how.store, "a database, or a server of its own")
        ->check(CLI::IsMember(stores));
    app.add_option("--bug", how.bug, "plant this bug, and fail if it is not found")
        ->check(CLI::IsMember(test::bug_names()));
    CLI11_PARSE(app, argc, argv);
    return run_all(how, std::chrono::seconds(seconds));
}

}  // namespace
}  // namespace mortise::storm

int main(int argc, char** argv) try {
    if (argc > 1 && std::string_view(argv[1]) == "--worker") {
        const std::vector<std::string> words(argv + 2, argv + argc);
        return mortise::storm::run_worker(mortise::storm::worker_order::parse(words));
    }
    return mortise::storm::run_main(argc, argv);
} catch (const std::exception& failed) {
    std::fprintf(stderr, "storm: %s\n", failed.what());
    return 2;
}
