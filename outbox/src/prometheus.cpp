// SPDX-License-Identifier: BSL-1.0
#include "mortise/outbox/prometheus.hpp"

#include "mortise/detail/prometheus_page.hpp"

#include <array>
#include <chrono>
#include <locale>
#include <sstream>

namespace mortise::outbox {
namespace {

using mortise::detail::prometheus_label;
using mortise::detail::prometheus_metric;
using mortise::detail::prometheus_page;

constexpr std::string_view counted = "counter";
constexpr std::string_view measured = "gauge";

using relay_metric = prometheus_metric<relay_stats>;
constexpr std::array relay_metrics{
    relay_metric{
        &relay_stats::sent, "mortise_relay_messages_sent_total", counted, "Messages sent."},
    relay_metric{
        &relay_stats::batches, "mortise_relay_batches_total", counted, "Batches of messages sent."},
    relay_metric{
        &relay_stats::parked,
        "mortise_relay_rows_parked_total",
        counted,
        "Rows parked because they cannot be sent."},
    relay_metric{
        &relay_stats::purged, "mortise_relay_rows_purged_total", counted, "Sent rows forgotten."},
    relay_metric{
        &relay_stats::writes,
        "mortise_relay_writes_total",
        counted,
        "Write transactions at the database."},
    relay_metric{
        &relay_stats::failures,
        "mortise_relay_failures_total",
        counted,
        "Attempts that failed and are repeated."},
    relay_metric{
        &relay_stats::refusals,
        "mortise_relay_refusals_total",
        counted,
        "Shards that the relay refused to send."},
    relay_metric{
        &relay_stats::marks_lost,
        "mortise_relay_marks_lost_total",
        counted,
        "Sinks that had lost their mark."},
    relay_metric{
        &relay_stats::taken,
        "mortise_relay_shards_taken_total",
        counted,
        "Shards taken over from another relay."},
    relay_metric{
        &relay_stats::held,
        "mortise_relay_shards_held",
        measured,
        "Shards that this relay sends now."},
    relay_metric{
        &relay_stats::refused,
        "mortise_relay_shards_refused",
        measured,
        "Shards that wait for an operator."},
};
static_assert(sizeof(relay_stats) == relay_metrics.size() * sizeof(std::uint64_t));

using lag_metric = prometheus_metric<relay_lag>;
constexpr std::array lag_metrics{
    lag_metric{
        &relay_lag::rows, "mortise_outbox_rows_waiting", measured, "Rows that wait to be sent."},
    lag_metric{&relay_lag::later, "mortise_outbox_rows_later", measured, "Rows not due yet."},
    lag_metric{
        &relay_lag::parked, "mortise_outbox_rows_parked", measured, "Rows that cannot be sent."},
};

using inbox_metric = prometheus_metric<inbox_stats>;
constexpr std::array inbox_metrics{
    inbox_metric{
        &inbox_stats::handled,
        "mortise_inbox_messages_handled_total",
        counted,
        "Messages whose effect was committed."},
    inbox_metric{
        &inbox_stats::repeated,
        "mortise_inbox_messages_repeated_total",
        counted,
        "Messages that were received before."},
    inbox_metric{
        &inbox_stats::refused,
        "mortise_inbox_messages_compensated_total",
        counted,
        "Refused messages for which a compensating message was sent."},
    inbox_metric{
        &inbox_stats::failed,
        "mortise_inbox_attempts_failed_total",
        counted,
        "Attempts of handlers that failed."},
    inbox_metric{
        &inbox_stats::parked, "mortise_inbox_messages_parked_total", counted, "Messages parked."},
    inbox_metric{
        &inbox_stats::retried,
        "mortise_inbox_attempts_repeated_total",
        counted,
        "Attempts after the first attempt of a message."},
    inbox_metric{
        &inbox_stats::waited,
        "mortise_inbox_messages_held_behind_total",
        counted,
        "Messages held behind an earlier message of their key."},
};
static_assert(sizeof(inbox_stats) == inbox_metrics.size() * sizeof(std::uint64_t));

}  // namespace

std::string prometheus_text(const relay_stats& stats, std::string_view relay, bool with_help) {
    return prometheus_page(relay_metrics, stats, prometheus_label("relay", relay), with_help);
}

std::string prometheus_text(const relay_lag& lag, std::string_view relay, bool with_help) {
    constexpr std::string_view oldest = "mortise_outbox_oldest_seconds";
    const std::string label = prometheus_label("relay", relay);
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text.precision(12);
    text << prometheus_page(lag_metrics, lag, label, with_help);
    if (with_help) {
        text << "# HELP " << oldest << " Age of the oldest row that waits to be sent.\n"
             << "# TYPE " << oldest << " gauge\n";
    }
    text << oldest << label << std::chrono::duration<double>(lag.oldest).count() << '\n';
    return text.str();
}

std::string prometheus_text(const inbox_stats& stats, std::string_view inbox, bool with_help) {
    return prometheus_page(inbox_metrics, stats, prometheus_label("inbox", inbox), with_help);
}

}  // namespace mortise::outbox
