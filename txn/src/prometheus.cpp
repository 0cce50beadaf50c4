// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/prometheus.hpp"

#include "mortise/detail/prometheus_page.hpp"

#include <array>

namespace mortise::txn {
namespace {

using metric = mortise::detail::prometheus_metric<coordinator_stats>;

constexpr std::string_view a_counter = "counter";
constexpr std::string_view a_gauge = "gauge";

constexpr std::array coordinator_metrics{
    metric{&coordinator_stats::begun, "mortise_txn_begun_total", a_counter, "Transactions begun."},
    metric{
        &coordinator_stats::confirmed,
        "mortise_txn_confirmed_total",
        a_counter,
        "Transactions decided to be confirmed."},
    metric{
        &coordinator_stats::cancelled,
        "mortise_txn_cancelled_total",
        a_counter,
        "Transactions decided to be cancelled."},
    metric{
        &coordinator_stats::ended,
        "mortise_txn_ended_total",
        a_counter,
        "Transactions whose branches are all finished."},
    metric{
        &coordinator_stats::calls, "mortise_txn_calls_total", a_counter, "Calls of participants."},
    metric{
        &coordinator_stats::calls_failed,
        "mortise_txn_calls_failed_total",
        a_counter,
        "Calls of participants without a clear answer."},
    metric{
        &coordinator_stats::taken_up,
        "mortise_txn_taken_up_total",
        a_counter,
        "Transactions found unfinished in the log."},
    metric{
        &coordinator_stats::stuck,
        "mortise_txn_stuck_total",
        a_counter,
        "Branches that became stuck and need an operator."},
    metric{
        &coordinator_stats::suspicious,
        "mortise_txn_suspicious",
        a_gauge,
        "Open transactions of which a participant knows more than the log."},
    metric{&coordinator_stats::open, "mortise_txn_open", a_gauge, "Transactions under way."},
    metric{
        &coordinator_stats::forgotten,
        "mortise_txn_forgotten_total",
        a_counter,
        "Transactions forgotten after their retention."},
    metric{
        &coordinator_stats::partitions,
        "mortise_txn_partitions",
        a_gauge,
        "Partitions of the log that this coordinator owns."},
    metric{
        &coordinator_stats::participants_broken,
        "mortise_txn_participants_broken",
        a_gauge,
        "Participants that do not answer and are called only now and then."},
    metric{
        &coordinator_stats::prepared,
        "mortise_txn_prepared",
        a_gauge,
        "Branches that the last look found prepared at databases."},
    metric{
        &coordinator_stats::prepared_oldest_ms,
        "mortise_txn_prepared_oldest_milliseconds",
        a_gauge,
        "For how long the oldest of them has been prepared."},
    metric{
        &coordinator_stats::orphans_ended,
        "mortise_txn_orphans_ended_total",
        a_counter,
        "Prepared branches without a transaction that were rolled back."},
    metric{
        &coordinator_stats::orphans_left,
        "mortise_txn_orphans_left",
        a_gauge,
        "Prepared branches without a transaction that people have to end."},
};
static_assert(sizeof(coordinator_stats) == coordinator_metrics.size() * sizeof(std::uint64_t));

}  // namespace

std::string
prometheus_text(const coordinator_stats& stats, std::string_view coordinator, bool with_help) {
    const auto label = mortise::detail::prometheus_label("coordinator", coordinator);
    return mortise::detail::prometheus_page(coordinator_metrics, stats, label, with_help);
}

}  // namespace mortise::txn
