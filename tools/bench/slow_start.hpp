// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_SLOW_START_HPP
#define MORTISE_TOOLS_BENCH_SLOW_START_HPP

#include "mortise/coro/clock.hpp"

namespace mortise::tool {

/// Says on the standard error why the first lock took so long, if it did: a store that may have
/// forgotten who holds what grants nothing for the longest TTL of its clients.
void explain_slow_start(clock::duration first_lock);

}  // namespace mortise::tool

#endif
