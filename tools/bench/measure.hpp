// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_MEASURE_HPP
#define MORTISE_TOOLS_BENCH_MEASURE_HPP

#include "bench/bench_report.hpp"
#include "common/settings.hpp"

#include <string>

namespace mortise::tool {

// The measurements. Each throws failure, or what the library throws.

bench_report measure_handoff(const std::string& store, const bench_settings& settings);
bench_report measure_contend(const std::string& store, const bench_settings& settings);
bench_report measure_uncontended(const std::string& store, const bench_settings& settings);
/// Without a named store: measures a memory store and a new SQLite store.
bench_report measure_local(const std::string& store, const bench_settings& settings);
/// Measures what it costs to hold many locks and do nothing.
bench_report measure_idle(const std::string& store, const bench_settings& settings);
/// Measures a lock that lingers: it stays with the process that released it until another wants it.
bench_report measure_linger(const std::string& store, const bench_settings& settings);
/// Measures the time from the death of a holder to the next grant.
bench_report measure_takeover(const std::string& store, const bench_settings& settings);
/// Without a named store: measures a memory store.
bench_report measure_waiters(const std::string& store, const bench_settings& settings);
/// Writes to the folder of the store, but not to the store's own file.
bench_report measure_txn(const std::string& store, const bench_settings& settings);
/// Measures transactions of a coordinator, with files in a folder of the settings.
bench_report measure_tcc(const bench_settings& settings);
/// Measures transactions over two databases.
bench_report measure_xa(const bench_settings& settings);

/// Measures a relay to Kafka, and what appending a message costs. Files are in a folder of the
/// settings.
bench_report measure_relay(const bench_settings& settings);

}  // namespace mortise::tool

#endif
