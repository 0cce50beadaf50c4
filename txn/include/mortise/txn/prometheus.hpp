// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_PROMETHEUS_HPP
#define MORTISE_TXN_PROMETHEUS_HPP

#include "mortise/txn/coordinator_stats.hpp"

#include <string>
#include <string_view>

namespace mortise::txn {

/// The counters of a coordinator in Prometheus' text format (version 0.0.4), for a `/metrics` page.
///
/// Each metric has the label `coordinator="..."`; its value may have any bytes. The text ends with
/// a line break, so that it can stand beside those of other coordinators and of lock clients
/// (`mortise::prometheus_text`), as long as each has a label of its own; the `# HELP` and `# TYPE`
/// lines come with the first coordinator only: pass `with_help = false` for the others.
///
/// @par Threads Any.
std::string prometheus_text(
    const coordinator_stats& stats, std::string_view coordinator, bool with_help = true
);

}  // namespace mortise::txn

#endif
