// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_MEASURE_HPP
#define MORTISE_TOOLS_BENCH_MEASURE_HPP

#include "bench/bench_report.hpp"
#include "settings.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace mortise::tool {

// The measurements. Each @throws failure, or what the library throws.

bench_report measure_handoff(const std::string& store, const bench_settings& settings);
bench_report measure_contend(const std::string& store, const bench_settings& settings);
bench_report measure_uncontended(const std::string& store, const bench_settings& settings);
/// Without a store: at a memory store, and at an SQLite store of its own.
bench_report measure_local(const std::string& store, const bench_settings& settings);
/// What it costs to hold many locks and do nothing.
bench_report measure_idle(const std::string& store, const bench_settings& settings);
/// A lock that stays with the process that released it, until another one wants it.
bench_report measure_linger(const std::string& store, const bench_settings& settings);
/// The time from the death of a holder to the next grant.
bench_report measure_takeover(const std::string& store, const bench_settings& settings);
/// Without a store: at a memory store.
bench_report measure_waiters(const std::string& store, const bench_settings& settings);
/// In the folder of the store, whose own file is not touched.
bench_report measure_txn(const std::string& store, const bench_settings& settings);
/// Transactions of a coordinator; with files in a folder of the settings.
bench_report measure_tcc(const bench_settings& settings);

/// A relay to Kafka, and what a message costs who appends it; with files in a folder of the
/// settings.
bench_report measure_relay(const bench_settings& settings);

/// Bare transactions per second, two of which are what acquire and release of one lock need, on a
/// new SQLite file in `folder`, which is removed again.
double bare_transactions_per_s(const std::filesystem::path& folder, unsigned seconds);

/// How long an fdatasync after a small append takes in `folder`: the median, in microseconds.
double fsync_us(const std::filesystem::path& folder);

}  // namespace mortise::tool

#endif
