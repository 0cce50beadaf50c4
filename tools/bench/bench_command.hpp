// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_BENCH_COMMAND_HPP
#define MORTISE_TOOLS_BENCH_BENCH_COMMAND_HPP

#include "common/settings.hpp"

namespace mortise::tool {

/// `mortise bench`: measures, on a temporary store unless one is named. @return the exit code.
/// @throws failure, or what the library throws.
int bench(const global_settings& global, const bench_settings& settings);

/// One process of `bench handoff`, `contend`, `linger` or `takeover`, which a bench_crew starts.
/// @return the exit code.
/// @throws failure, or what the library throws.
int bench_worker(const global_settings& global, const bench_worker_settings& settings);

}  // namespace mortise::tool

#endif
