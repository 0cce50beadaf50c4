// SPDX-License-Identifier: BSL-1.0
#include "bench/bench_command.hpp"

#include "bench/bench_files.hpp"
#include "bench/measure.hpp"
#include "bench/run_control.hpp"
#include "common/default_store.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"

#include <algorithm>
#include <array>
#include <iostream>
#include <optional>

namespace mortise::tool {
namespace {

using kind = bench_settings::kind;

bench_report measure(const std::string& store, const bench_settings& settings) {
    switch (settings.measurement) {
    case kind::handoff:
        return measure_handoff(store, settings);
    case kind::contend:
        return measure_contend(store, settings);
    case kind::local:
        return measure_local(store, settings);
    case kind::waiters:
        return measure_waiters(store, settings);
    case kind::idle:
        return measure_idle(store, settings);
    case kind::linger:
        return measure_linger(store, settings);
    case kind::takeover:
        return measure_takeover(store, settings);
    case kind::tcc:
        return measure_tcc(settings);
    case kind::txn:
        return measure_txn(store, settings);
    case kind::xa:
        return measure_xa(settings);
    case kind::relay:
        return measure_relay(settings);
    case kind::uncontended:
        break;
    }
    return measure_uncontended(store, settings);
}

}  // namespace

int bench(const global_settings& global, const bench_settings& settings) {
    constexpr std::array by_processes{kind::handoff, kind::contend, kind::linger, kind::takeover};
    const bool several =
        std::find(by_processes.begin(), by_processes.end(), settings.measurement) !=
        by_processes.end();
    if (global.store.starts_with("memory:") && several) {
        throw failure(
            exit_code::usage,
            "this store cannot be measured with several processes",
            global.shown_store(),
            "it lives inside one process; leave --store out, or name one of SQLite or Redis"
        );
    }
    const interruption orderly;
    std::optional<scratch_folder> folder;
    std::string store = global.store;
    const bool needs_none = settings.measurement == kind::local ||
                            settings.measurement == kind::waiters ||
                            settings.measurement == kind::tcc || settings.measurement == kind::xa ||
                            settings.measurement == kind::relay;
    if (store.empty() && !needs_none) {
        folder.emplace();
        store = sqlite_url(folder->path() / "locks.db");
    }
    const bench_report report = measure(store, settings);
    report.write(std::cout, global.json);
    if (report.faultless())
        return exit_code::success;
    std::cerr << "mortise: the measurement found a fault: see the figures that must be 0\n";
    return exit_code::check_failed;
}

}  // namespace mortise::tool
