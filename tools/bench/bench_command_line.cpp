// SPDX-License-Identifier: BSL-1.0
#include "common/grammar.hpp"
#include "help.hpp"

#include <CLI/CLI.hpp>

#include <chrono>
#include <string>

namespace mortise::tool {
namespace {

using bench_kind = bench_settings::kind;

void add_seconds(CLI::App& app, bench_settings& target) {
    app.add_option("--seconds", target.seconds, "How long to measure; default: 3")
        ->check(CLI::Range(1, 3'600));
}

void add_no_local(CLI::App& app, bench_settings& bench) {
    app.add_flag_callback(
        "--no-local",
        [&bench] { bench.local_handoff = false; },
        "Every grant goes back to the store, also if a worker of the same process waits"
    );
}

void add_contend_options(CLI::App& app, bench_settings& bench) {
    app.add_option("--tasks", bench.tasks, "Workers in each process; default: 8")
        ->check(CLI::Range(1, 1'000));
    app.add_option("--acquisitions", bench.acquisitions, "How often in all; default: 2000")
        ->check(CLI::Range(1, 10'000'000));
    add_duration(app, "--hold", bench.hold, "How long the lock is held; default: 2ms");
    add_duration(app, "--think", bench.think, "How long a worker rests; default: 50ms");
    add_no_local(app, bench);
}

void add_tcc_options(CLI::App& app, bench_settings& target) {
    app.footer(help::tcc_footer);
    app.add_option("--transactions", target.transactions, "So many, instead of for some time")
        ->check(CLI::Range(1, 100'000'000));
    app.add_option("--dir", target.folder, "The folder for its files; default: the current one")
        ->type_name("PATH");
    app.add_option("--recovery", target.recovery, "Also so many that a process left unfinished")
        ->check(CLI::Range(2, 10'000'000));
    app.add_option("--handover", target.handover, "Also a stop with so many under way")
        ->check(CLI::Range(1, 1'000'000));
    app.add_option("--backlog", target.backlog, "Also beside so many that wait for a participant")
        ->check(CLI::Range(1, 1'000'000));
}

void add_takeover_options(CLI::App& app, bench_settings& target) {
    app.add_option("--kills", target.kills, "How many holders are killed; default: 10")
        ->check(CLI::Range(1, 10'000));
    add_duration(app, "--ttl", target.ttl, "The TTL of the holders; default: 1s");
}

void add_xa_options(CLI::App& app, bench_settings& target) {
    constexpr int databases = 2;
    app.footer(help::xa_footer);
    app.add_option("URL", target.databases, "Two databases; one that is named twice will do")
        ->required()
        ->expected(databases);
    app.add_option("--dir", target.folder, "The folder for its log; default: the current one")
        ->type_name("PATH");
    CLI::Option* flight =
        app.add_option("--in-flight", target.in_flight, "Transactions at a time; default: 16")
            ->check(CLI::Range(1, 1'000));
    app.parse_complete_callback([&target, flight] {
        constexpr unsigned usual = 16;
        if (flight->empty())
            target.in_flight = usual;
    });
}

void add_relay_options(CLI::App& app, bench_settings& target) {
    app.footer(help::relay_footer);
    app.add_option("--kafka", target.kafka, "Some of its brokers")
        ->type_name("HOST:PORT,...")
        ->required();
    app.add_option("--rows", target.rows, "How many are sent; default: 200000")
        ->check(CLI::Range(1'000, 100'000'000));
    app.add_option("--size", target.size, "Bytes of payload in each; default: 200")
        ->check(CLI::Range(1, 500'000));
    app.add_option("--dir", target.folder, "The folder for its files; default: the current one")
        ->type_name("PATH");
}

}  // namespace

CLI::App& add_bench(CLI::App& to, bench_settings& target) {
    CLI::App& bench = *to.add_subcommand("bench", help::bench)->fallthrough();
    bench.footer(help::bench_footer);
    bench.require_subcommand(1);
    const auto add = [&](const char* name, const char* meaning, bench_kind kind) -> CLI::App& {
        CLI::App& app = *bench.add_subcommand(name, meaning)->fallthrough();
        app.callback([&target, kind] { target.measurement = kind; });
        return app;
    };
    const auto add_processes = [&](CLI::App& app, int least, unsigned usual) {
        const std::string meaning = "How many processes; default: " + std::to_string(usual);
        CLI::Option* option = app.add_option("--processes", target.processes, meaning);
        option->check(CLI::Range(least, 256));
        app.parse_complete_callback([&target, option, usual] {
            if (option->empty())
                target.processes = usual;
        });
    };
    CLI::App& handoff = add("handoff", help::handoff, bench_kind::handoff);
    add_processes(handoff, 2, 2);
    add_no_local(handoff, target);
    add_seconds(handoff, target);
    CLI::App& contend = add("contend", help::contend, bench_kind::contend);
    add_processes(contend, 1, 8);
    add_contend_options(contend, target);
    const std::string greedy_meaning = "Workers do not rest: the same as --think 0";
    CLI::Option* greedy = contend.add_flag("--greedy", greedy_meaning);
    contend.callback([&target, greedy] {
        target.measurement = bench_kind::contend;
        if (!greedy->empty())
            target.think = std::chrono::milliseconds(0);
    });
    add_seconds(add("uncontended", help::uncontended, bench_kind::uncontended), target);
    CLI::App& local = add("local", help::local, bench_kind::local);
    local.add_option("--tasks", target.tasks, "Coroutines; default: 8")
        ->check(CLI::Range(1, 10'000));
    add_seconds(local, target);
    CLI::App& waiters = add("waiters", help::waiters, bench_kind::waiters);
    waiters.add_option("--n", target.waiters, "How many; default: 100000")
        ->check(CLI::Range(1, 10'000'000));
    CLI::App& idle = add("idle", help::idle, bench_kind::idle);
    idle.add_option("--locks", target.locks, "How many; default: 10000")
        ->check(CLI::Range(1, 10'000'000));
    add_seconds(idle, target);
    add_seconds(add("linger", help::linger, bench_kind::linger), target);
    CLI::App& takeover = add("takeover", help::takeover, bench_kind::takeover);
    add_takeover_options(takeover, target);
    const auto add_flight = [&](CLI::App& app) {
        app.add_option("--in-flight", target.in_flight, "Transactions at a time; default: 64")
            ->check(CLI::Range(1, 100'000));
    };
    CLI::App& tcc = add("tcc", help::tcc, bench_kind::tcc);
    add_flight(tcc);
    add_seconds(tcc, target);
    add_tcc_options(tcc, target);
    CLI::App& txn = add("txn", help::txn, bench_kind::txn);
    txn.footer(help::txn_footer);
    add_flight(txn);
    add_seconds(txn, target);
    CLI::App& two_databases = add("xa", help::xa, bench_kind::xa);
    add_seconds(two_databases, target);
    add_xa_options(two_databases, target);
    CLI::App& relay = add("relay", help::relay, bench_kind::relay);
    add_seconds(relay, target);
    add_relay_options(relay, target);
    return bench;
}

CLI::App& add_bench_worker(CLI::App& to, bench_worker_settings& target) {
    CLI::App& app = *to.add_subcommand("bench-worker", "Used by bench")->fallthrough();
    app.group("");  // not in --help: only `bench` itself calls it
    app.add_flag_callback("--contend", [&target] {
        target.bench.measurement = bench_kind::contend;
    });
    app.add_flag_callback("--linger", [&target] { target.bench.measurement = bench_kind::linger; });
    app.add_flag_callback("--takeover", [&target] {
        target.bench.measurement = bench_kind::takeover;
    });
    add_contend_options(app, target.bench);
    add_duration(app, "--ttl", target.bench.ttl, "");
    app.add_option("--lock", target.lock);
    app.add_option("--index", target.index);
    app.add_option("--board", target.board);
    app.add_option("--ready", target.ready);
    app.add_option("--go", target.go);
    app.add_option("--peer", target.peer);
    return app;
}

}  // namespace mortise::tool
