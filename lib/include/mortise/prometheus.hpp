// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_PROMETHEUS_HPP
#define MORTISE_PROMETHEUS_HPP

#include "mortise/client_stats.hpp"

#include <string>
#include <string_view>

namespace mortise {

/// The counters of a client in Prometheus' text format (version 0.0.4), for a `/metrics` page.
///
/// Each metric has the label `client="..."`; its value may have any bytes. The text ends with a
/// line break, so that those of several clients can stand one after the other, as long as each has
/// a label of its own; the `# HELP` and `# TYPE` lines come with the first only: pass `with_help =
/// false` for the others. Source: Prometheus, "Exposition formats".
///
/// @par Threads Any.
std::string
prometheus_text(const client_stats& stats, std::string_view client, bool with_help = true);

}  // namespace mortise

#endif
