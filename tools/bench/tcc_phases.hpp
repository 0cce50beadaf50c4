// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_TCC_PHASES_HPP
#define MORTISE_TOOLS_BENCH_TCC_PHASES_HPP

#include "bench/bench_report.hpp"
#include "bench/http_bank.hpp"
#include "bench/sync_count.hpp"
#include "bench/tcc_tally.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace mortise::tool {

/// The sums over all turns of one kind.
struct tcc_figures {
    std::uint64_t count = 0;
    std::uint64_t failures = 0;  ///< Transactions that were not confirmed.
    std::uint64_t forced = 0;    ///< Records that were forced to the disk.
    std::uint64_t records = 0;   ///< All records, forced or not.
    std::uint64_t commits = 0;   ///< The commits that wrote them.
    std::uint64_t syncs = 0;
    clock::duration took{};
    std::vector<clock::duration> latencies;

    double per_s() const noexcept {
        return static_cast<double>(count) / std::chrono::duration<double>(took).count();
    }
    double each(std::uint64_t what) const noexcept {
        return static_cast<double>(what) / static_cast<double>(count);
    }
    /// A quantile of the time to the decision, in microseconds. Sorts the latencies.
    double latency_us(double quantile);

    void add(const tcc_tally& done);
};

/// The records that a transaction leaves in the log.
struct tcc_records {
    std::string plan;
    std::string progress;
};

// Each function runs one turn with new files in `folder`, and removes them. The turn is timed until
// everything has ended; opening is not. Each throws failure, or what the library throws.

/// Transactions of two branches whose participants do nothing. @return the records of one.
tcc_records transactions_turn(
    const std::filesystem::path& folder,
    const tcc_amount& amount,
    const sync_count& syncs,
    tcc_figures& sum
);

/// The same with participants that each keep accounts in a database, behind a barrier.
void barrier_turn(
    const std::filesystem::path& folder,
    const tcc_amount& amount,
    const sync_count& syncs,
    tcc_figures& sum
);

/// The same with participants in another process, called over HTTP.
void http_turn(
    const std::filesystem::path& folder,
    const tcc_amount& amount,
    const sync_count& syncs,
    const http_bank& bank,
    tcc_figures& sum
);

/// Only the four requests of such a transaction, by the same client.
void bare_http_turn(const tcc_amount& amount, const http_bank& bank, tcc_figures& sum);

/// Only the records that the log must write for such transactions: two forced ones, one after the
/// other, and one that is not forced.
void bare_turn(
    const std::filesystem::path& folder,
    const tcc_amount& amount,
    const tcc_records& records,
    tcc_figures& sum
);

/// One transaction at a time, with seven forced commits each, as a coordinator does that writes
/// each step.
void seven_commits_turn(
    const std::filesystem::path& folder, const tcc_amount& amount, tcc_figures& sum
);

/// The result for transactions that a dead coordinator left behind.
struct tcc_recovery {
    std::uint64_t ended = 0;
    clock::duration took{};
    std::optional<double> rss_growth_mb;  ///< At the peak.
};

/// Kills a process with `count` unfinished transactions, half of them decided, and measures how
/// fast the next process finishes them. Call it before this process has a second thread.
tcc_recovery recovery_turn(const std::filesystem::path& folder, std::uint64_t count);

/// The result for transactions under way when a coordinator was stopped in order.
struct tcc_handover {
    clock::duration took{};  ///< From the order to stop until another one leads all partitions.
    clock::duration stop{};  ///< Until the stopped one had answered all callers, and closed.
    std::uint64_t lost = 0;  ///< Transactions that did not end.
};

/// Two coordinators share a log. The leading one is stopped with `count` transactions under way
/// whose participants do not answer.
tcc_handover handover_turn(const std::filesystem::path& folder, std::uint64_t count);
void add_handover(bench_report& to, const tcc_handover& made, std::uint64_t count);

/// Healthy transactions beside a backlog that waits for an absent participant.
struct tcc_backlog {
    tcc_figures loaded;  ///< Of a coordinator with the backlog,
    tcc_figures alone;   ///< of one without,
    tcc_figures other;   ///< and of a second one without: their difference is noise.
    std::optional<double> rss_growth_mb;  ///< After the backlog was built.
    std::uint64_t drained = 0;            ///< Ended after the participant came back,
    clock::duration drain{};              ///< in this time.
    std::uint64_t left = 0;
};

/// Lets `amount.count` transactions wait. The coordinators take turns of `amount.span`.
tcc_backlog
backlog_turns(const std::filesystem::path& folder, const tcc_amount& amount, unsigned turns);
void add_backlog(bench_report& to, tcc_backlog& made);

}  // namespace mortise::tool

#endif
