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

/// What turns of one kind came to, in all.
struct tcc_figures {
    std::uint64_t count = 0;
    std::uint64_t failures = 0;  ///< Transactions that were not confirmed.
    std::uint64_t forced = 0;    ///< Records that the log was told to force.
    std::uint64_t records = 0;   ///< Those, and those that it was not.
    std::uint64_t commits = 0;   ///< Which they shared.
    std::uint64_t syncs = 0;
    clock::duration took{};
    std::vector<clock::duration> latencies;

    double per_s() const noexcept {
        return static_cast<double>(count) / std::chrono::duration<double>(took).count();
    }
    double each(std::uint64_t what) const noexcept {
        return static_cast<double>(what) / static_cast<double>(count);
    }
    /// Of the time to the decision, in microseconds; the latencies are put in order.
    double latency_us(double quantile);

    void add(const tcc_tally& done);
};

/// The records that a transaction leaves in the log.
struct tcc_records {
    std::string plan;
    std::string progress;
};

// One turn each, with files of its own in `folder`, which are removed again. The time until
// everything has ended counts, the opening does not. @throws failure, or what the library throws.

/// Transactions of two branches, whose participants do nothing. @return the records of one.
tcc_records transactions_turn(
    const std::filesystem::path& folder,
    const tcc_amount& amount,
    const sync_count& syncs,
    tcc_figures& sum
);

/// The same with participants that keep accounts in a database each, behind a barrier.
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

/// The four requests of such a transaction and nothing else, by the same client.
void bare_http_turn(const tcc_amount& amount, const http_bank& bank, tcc_figures& sum);

/// What the log must write for such transactions, and nothing else: two records that are forced,
/// one after the other, and one that is not.
void bare_turn(
    const std::filesystem::path& folder,
    const tcc_amount& amount,
    const tcc_records& records,
    tcc_figures& sum
);

/// One transaction after the other, each with seven commits of its own that are forced, as
/// coordinators do it that write each step.
void seven_commits_turn(
    const std::filesystem::path& folder, const tcc_amount& amount, tcc_figures& sum
);

/// What became of the transactions that a coordinator left behind.
struct tcc_recovery {
    std::uint64_t ended = 0;
    clock::duration took{};
    std::optional<double> rss_growth_mb;  ///< At its peak.
};

/// Lets a process die with so many unfinished transactions, half of them decided, and measures how
/// fast the next one finishes them. Call it before there is any thread.
tcc_recovery recovery_turn(const std::filesystem::path& folder, std::uint64_t count);

/// What became of the transactions that a coordinator had under way when it was stopped in order.
struct tcc_handover {
    clock::duration took{};  ///< From the order to stop until another one leads all, and accepts.
    clock::duration stop{};  ///< Until the stopped one had told all of its callers, and closed.
    std::uint64_t lost = 0;  ///< Transactions that were not settled afterwards.
};

/// Two coordinators share a log. The one that leads is stopped with so many transactions under way
/// whose participants do not answer.
tcc_handover handover_turn(const std::filesystem::path& folder, std::uint64_t count);
void add_handover(bench_report& to, const tcc_handover& made, std::uint64_t count);

/// Healthy transactions beside so many that wait for a participant that is away.
struct tcc_backlog {
    tcc_figures loaded;  ///< Of a coordinator with the backlog,
    tcc_figures alone;   ///< of one without,
    tcc_figures other;   ///< and of another one without: what differs between those is noise.
    std::optional<double> rss_growth_mb;  ///< When it had piled up.
    std::uint64_t drained = 0;            ///< When the participant was back,
    clock::duration drain{};              ///< in that time.
    std::uint64_t left = 0;
};

/// `amount.count` transactions wait; the coordinators take turns of `amount.span`.
tcc_backlog
backlog_turns(const std::filesystem::path& folder, const tcc_amount& amount, unsigned turns);
void add_backlog(bench_report& to, tcc_backlog& made);

}  // namespace mortise::tool

#endif
