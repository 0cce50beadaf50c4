// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_SLOW_START_HPP
#define MORTISE_TOOLS_BENCH_SLOW_START_HPP

#include "mortise/coro/clock.hpp"

namespace mortise::tool {

/// Explains a slow first lock on the standard error. A store that may have forgotten its grants
/// grants nothing for the longest TTL of its clients.
void explain_slow_start(clock::duration first_lock);

}  // namespace mortise::tool

#endif
