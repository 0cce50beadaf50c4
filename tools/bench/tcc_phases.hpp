// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_TCC_PHASES_HPP
#define MORTISE_TOOLS_BENCH_TCC_PHASES_HPP

#include "bench/bench_files.hpp"
#include "bench/bench_report.hpp"
#include "bench/host_meters.hpp"
#include "bench/http_bank.hpp"
#include "bench/run_control.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/txn/coordinator.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::tool {

/// The amount of work: how many at a time, for how long, or how often.
struct tcc_amount {
    unsigned in_flight = 1;
    std::chrono::milliseconds span{0};
    std::uint64_t count = 0;  ///< Zero: as many as the time allows.
};

/// What coroutines that work side by side have done together.
class tcc_tally {
public:
    explicit tcc_tally(const tcc_amount& amount)
        : left_(amount.count != 0 ? amount.count : std::numeric_limits<std::uint64_t>::max()),
          end_(amount.count != 0 ? clock::time_point::max() : clock::now() + amount.span) {}

    /// Whether another one must be started. @throws failure if the measurement is interrupted.
    bool take() {
        interruption::check();
        if (left_ == 0 || clock::now() >= end_)
            return false;
        --left_;
        return true;
    }

    void done(clock::duration took) { took_.push_back(took); }
    void failed() { ++failed_; }

    const std::vector<clock::duration>& took() const noexcept { return took_; }
    std::uint64_t failures() const noexcept { return failed_; }

private:
    std::uint64_t left_;
    clock::time_point end_;
    std::vector<clock::duration> took_;
    std::uint64_t failed_ = 0;
};

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
    double each(std::uint64_t sum) const noexcept {
        return static_cast<double>(sum) / static_cast<double>(count);
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

/// A purchase: one branch at each of the two participants.
inline txn::transaction bench_purchase() {
    txn::transaction transaction;
    transaction.add("stock", R"({"item":"apple","count":2,"order":4711})");
    transaction.add("wallet", R"({"account":"alice","cents":499,"order":4711})");
    return transaction;
}

/// A participant that agrees to everything at once.
std::shared_ptr<txn::participant> willing_participant();

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
void add_handover(bench_report& to, const tcc_handover& handover, std::uint64_t count);

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
void add_backlog(bench_report& to, tcc_backlog& backlog);

}  // namespace mortise::tool

#endif
