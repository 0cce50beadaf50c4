// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_BENCH_LOCK_NAME_HPP
#define MORTISE_TOOLS_BENCH_BENCH_LOCK_NAME_HPP

#include <string>

namespace mortise::tool {

/// The name of the lock that this process measures: of 17 bytes, for what is sent depends on it,
/// and of no other process.
std::string bench_lock_name();

}  // namespace mortise::tool

#endif
