// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_BENCH_WORKER_HPP
#define MORTISE_TOOLS_BENCH_BENCH_WORKER_HPP

#include "settings.hpp"

namespace mortise::tool {

/// One process of `bench handoff`, `contend`, `linger` or `takeover`, which a bench_crew starts.
/// @return the exit code.
/// @throws failure, or what the library throws.
int bench_worker(const global_settings& global, const bench_worker_settings& settings);

}  // namespace mortise::tool

#endif
