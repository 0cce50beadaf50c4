// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_PROMETHEUS_HPP
#define MORTISE_OUTBOX_PROMETHEUS_HPP

#include "mortise/outbox/inbox_stats.hpp"
#include "mortise/outbox/relay_stats.hpp"

#include <string>
#include <string_view>

// Writes counters in Prometheus' text format (version 0.0.4), for a `/metrics` page, like
// mortise/prometheus.hpp does for a `lock_client`. Each metric has a label, whose value may have
// any bytes. The texts end with a line break and may be joined. Each then needs a label value of
// its own, and only the first of its kind comes with help.
namespace mortise::outbox {

/// Labels each metric `relay="..."`.
///
/// @par Threads Any.
std::string
prometheus_text(const relay_stats& stats, std::string_view relay, bool with_help = true);
std::string prometheus_text(const relay_lag& lag, std::string_view relay, bool with_help = true);

/// Labels each metric `inbox="..."`.
///
/// @par Threads Any.
std::string
prometheus_text(const inbox_stats& stats, std::string_view inbox, bool with_help = true);

}  // namespace mortise::outbox

#endif
