// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_PROMETHEUS_HPP
#define MORTISE_TXN_PROMETHEUS_HPP

#include "mortise/txn/coordinator_stats.hpp"

#include <string>
#include <string_view>

namespace mortise::txn {

/// Prints the counters of a coordinator in Prometheus' text format (version 0.0.4), for a
/// `/metrics`
/// page.
///
/// Each metric has the label `coordinator="..."`; its value may contain any bytes. The text ends
/// with a line break, so you can join it with those of other coordinators and of lock clients
/// (`mortise::prometheus_text`). Each needs a label of its own. Only the first may contain the
/// `# HELP` and `# TYPE` lines: pass `with_help = false` for the others.
///
/// @par Threads Any thread.
std::string prometheus_text(
    const coordinator_stats& stats, std::string_view coordinator, bool with_help = true
);

}  // namespace mortise::txn

#endif
