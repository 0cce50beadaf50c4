// SPDX-License-Identifier: BSL-1.0
#include "bench/host_meters.hpp"
#include "bench/measure.hpp"
#include "bench/run_control.hpp"
#include "bench/tcc_phases.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

namespace mortise::tool {
namespace {

using std::chrono::milliseconds;

constexpr unsigned turns_least = 4;

struct tcc_findings {
    tcc_figures transactions;
    tcc_figures bare;
    tcc_figures barriers;
    tcc_figures http;
    tcc_figures bare_http;
    std::optional<tcc_recovery> recovery;
    std::optional<tcc_handover> handover;
    std::optional<tcc_backlog> backlog;
};

// Uses short turns. One in a hundred transactions meets some disturbance of the machine; it should
// not always hit the same coordinator.
void measure_backlog(const bench_settings& settings, tcc_findings& found) {
    constexpr unsigned turns_per_second = 8;
    const unsigned turns = turns_per_second * settings.seconds;
    const tcc_amount amount{
        settings.in_flight, milliseconds(1'000) / turns_per_second, settings.backlog};
    found.backlog = backlog_turns(settings.folder, amount, turns);
}

// Uses turns of half a second, and begins each round with another kind. A slow phase of the machine
// then slows the transactions and their limit alike. So does a disk that is slow after much
// writing.
void measure(const bench_settings& settings, tcc_findings& found) {
    const std::filesystem::path folder = settings.folder;
    progress shown("bench tcc, turns");
    const auto bank = http_bank::start();  // before there are threads
    if (settings.recovery != 0)
        found.recovery = recovery_turn(folder, settings.recovery);
    if (settings.handover != 0)
        found.handover = handover_turn(folder, settings.handover);
    if (settings.backlog != 0)
        measure_backlog(settings, found);
    const sync_count syncs;
    const unsigned turns = std::max(turns_least, 2 * settings.seconds);
    const tcc_amount amount{
        settings.in_flight,
        milliseconds(settings.seconds * 1'000) / turns,
        (settings.transactions + turns - 1) / turns};
    tcc_records records;
    std::vector<std::function<void()>> phases{
        [&] { records = transactions_turn(folder, amount, syncs, found.transactions); },
        [&] { bare_turn(folder, amount, records, found.bare); },
        [&] { barrier_turn(folder, amount, syncs, found.barriers); },
    };
    if (bank) {
        phases.emplace_back([&] { http_turn(folder, amount, syncs, *bank, found.http); });
        phases.emplace_back([&] { bare_http_turn(amount, *bank, found.bare_http); });
    }
    for (unsigned turn = 0; turn < turns; ++turn) {
        shown.show(turn, turns);
        for (unsigned i = 0; i < phases.size(); ++i)
            phases[(turn + i) % phases.size()]();
    }
}

void report_transactions(bench_report& to, tcc_findings& found, unsigned in_flight) {
    tcc_figures& all = found.transactions;
    const std::string flight = std::to_string(in_flight) + " in flight";
    to.add("tx_per_s", all.per_s(), 1, "transactions of two branches, ended, " + flight);
    to.add("forced_writes_per_tx", all.each(all.forced), 3, "records that the log forced");
    const auto shared = static_cast<double>(all.records) / static_cast<double>(all.commits);
    to.add("records_per_commit", shared, 1, "of those and of others");
    to.add("fsyncs_per_tx", all.each(all.syncs), 4, "by SQLite, checkpoints included");
    to.add("latency_us.p50", all.latency_us(0.5), 1, "from the call to the durable decision");
    to.add("latency_us.p99", all.latency_us(0.99), 1, "the same, one in a hundred is slower");
    to.add("bare_per_s", found.bare.per_s(), 1, "the same records without a coordinator");
    to.add("ratio", all.per_s() / found.bare.per_s(), 3, "of the two");
    to.add("barrier_tx_per_s", found.barriers.per_s(), 1, "participants with databases, barriers");
    to.add(
        "barrier_fsyncs_per_tx",
        found.barriers.each(found.barriers.syncs),
        4,
        "the same, of all three databases"
    );
    to.add_fault(
        "not_confirmed",
        static_cast<double>(all.failures + found.barriers.failures),
        "transactions that were not confirmed"
    );
}

void report_http(bench_report& to, const tcc_findings& found) {
    if (found.http.count == 0)
        return;
    to.add("http_tx_per_s", found.http.per_s(), 1, "participants over HTTP, in another process");
    to.add("http_bare_per_s", found.bare_http.per_s(), 1, "their four requests and nothing else");
    to.add("http_ratio", found.http.per_s() / found.bare_http.per_s(), 3, "of the two");
    to.add_fault(
        "http_not_confirmed",
        static_cast<double>(found.http.failures + found.bare_http.failures),
        "transactions, or requests, that were not confirmed"
    );
}

void report_recovery(bench_report& to, const tcc_findings& found, std::uint64_t count) {
    if (!found.recovery)
        return;
    const auto& recovery = *found.recovery;
    const double per_s =
        static_cast<double>(recovery.ended) / std::chrono::duration<double>(recovery.took).count();
    to.add("recovered_per_s", per_s, 1, "transactions of a coordinator that died, ended");
    to.add("ratio_recovery", per_s / found.transactions.per_s(), 3, "of that to tx_per_s");
    to.add("recovery_rss_mb", recovery.rss_growth_mb, 1, "memory that it took, at most");
    to.add_fault(
        "not_recovered", static_cast<double>(count - recovery.ended), "transactions that were left"
    );
}

}  // namespace

bench_report measure_tcc(const bench_settings& settings) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(settings.folder, ignored)) {
        throw failure(
            exit_code::usage, "there is no such folder", settings.folder, "name one by --dir"
        );
    }
    tcc_findings found;
    measure(settings, found);
    bench_report report;
    report_transactions(report, found, settings.in_flight);
    report_http(report, found);
    report_recovery(report, found, settings.recovery);
    if (found.handover)
        add_handover(report, *found.handover, settings.handover);
    if (found.backlog)
        add_backlog(report, *found.backlog);
    report.add("fsync_us", fsync_us(settings.folder), 1, "an fdatasync after an append, median");
    return report;
}

}  // namespace mortise::tool
