// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_PROMETHEUS_HPP
#define MORTISE_OUTBOX_PROMETHEUS_HPP

#include "mortise/outbox/inbox_stats.hpp"
#include "mortise/outbox/relay_stats.hpp"

#include <string>
#include <string_view>

// Counters in Prometheus' text format (version 0.0.4), for a `/metrics` page, as those of a
// `lock_client` in mortise/prometheus.hpp: each metric has a label, whose value may have any bytes;
// the texts end with a line break, and can stand one after the other as long as each has a label of
// its own and only the first of its kind comes with help.
namespace mortise::outbox {

/// With the label `relay="..."`.
///
/// @par Threads Any.
std::string
prometheus_text(const relay_stats& stats, std::string_view relay, bool with_help = true);
std::string prometheus_text(const relay_lag& lag, std::string_view relay, bool with_help = true);

/// With the label `inbox="..."`.
///
/// @par Threads Any.
std::string
prometheus_text(const inbox_stats& stats, std::string_view inbox, bool with_help = true);

}  // namespace mortise::outbox

#endif
