// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_BENCH_LOCK_NAME_HPP
#define MORTISE_TOOLS_BENCH_BENCH_LOCK_NAME_HPP

#include <string>

namespace mortise::tool {

/// The name of the lock that this process measures; no other process uses it. It always has 17
/// bytes, because its size counts among the bytes sent.
std::string bench_lock_name();

}  // namespace mortise::tool

#endif
