// SPDX-License-Identifier: BSL-1.0
#include "mortise/prometheus.hpp"

#include "mortise/detail/prometheus_page.hpp"

#include <array>

namespace mortise {
namespace {

using metric = detail::prometheus_metric<client_stats>;

constexpr std::string_view counter = "counter";
constexpr std::string_view gauge = "gauge";

constexpr std::array metrics{
    metric{&client_stats::granted, "mortise_leases_granted_total", counter, "Leases delivered."},
    metric{
        &client_stats::busy,
        "mortise_acquires_busy_total",
        counter,
        "Acquires whose time ran out, and tries that failed."},
    metric{
        &client_stats::cancelled,
        "mortise_acquires_cancelled_total",
        counter,
        "Acquires that were cancelled."},
    metric{
        &client_stats::failed,
        "mortise_acquires_failed_total",
        counter,
        "Acquires that ended with another error."},
    metric{
        &client_stats::requests,
        "mortise_requests_total",
        counter,
        "Requests for locks that were sent to the store."},
    metric{&client_stats::grants, "mortise_grants_total", counter, "Grants of the store."},
    metric{
        &client_stats::draws,
        "mortise_token_draws_total",
        counter,
        "Draws of more tokens for a grant."},
    metric{&client_stats::released, "mortise_leases_released_total", counter, "Leases released."},
    metric{
        &client_stats::released_late,
        "mortise_leases_released_late_total",
        counter,
        "Leases released by a destructor."},
    metric{
        &client_stats::lost,
        "mortise_leases_lost_total",
        counter,
        "Leases lost before their release."},
    metric{
        &client_stats::heartbeats,
        "mortise_heartbeats_total",
        counter,
        "Heartbeats that the store acknowledged."},
    metric{
        &client_stats::heartbeats_failed,
        "mortise_heartbeats_failed_total",
        counter,
        "Heartbeats without a good answer."},
    metric{&client_stats::sessions, "mortise_sessions_total", counter, "Sessions opened."},
    metric{
        &client_stats::looks,
        "mortise_looks_total",
        counter,
        "Times that the entries at the store were read again."},
    metric{
        &client_stats::missed_grants,
        "mortise_missed_grants_total",
        counter,
        "Grants found by looking, for their push was lost."},
    metric{
        &client_stats::orphans,
        "mortise_orphans_total",
        counter,
        "Entries found at the store that nobody owned, and withdrawn."},
    metric{
        &client_stats::undone_late,
        "mortise_undone_late_total",
        counter,
        "Withdrawals and releases that outlasted their budget."},
    metric{&client_stats::waiting, "mortise_acquires_waiting", gauge, "Acquires under way."},
    metric{&client_stats::leases, "mortise_leases_held", gauge, "Leases held."},
};
static_assert(sizeof(client_stats) == metrics.size() * sizeof(std::uint64_t));

// Escapes a label as the format demands: a backslash before a quotation mark, a backslash and a
// line break.
std::string escaped(std::string_view value) {
    std::string text;
    for (const char c : value) {
        if (c == '\n') {
            text += "\\n";
            continue;
        }
        if (c == '"' || c == '\\')
            text += '\\';
        text += c;
    }
    return text;
}

}  // namespace

std::string detail::prometheus_label(std::string_view name, std::string_view value) {
    return '{' + std::string(name) + "=\"" + escaped(value) + "\"} ";
}

std::string prometheus_text(const client_stats& stats, std::string_view client, bool with_help) {
    const auto label = detail::prometheus_label("client", client);
    return detail::prometheus_page(metrics, stats, label, with_help);
}

}  // namespace mortise
