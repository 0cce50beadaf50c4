// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_PAUSE_HPP
#define MORTISE_TOOLS_BENCH_PAUSE_HPP

#include "mortise/coro/fwd.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>

namespace mortise::tool {

/// Waits for `span`. @throws failure if the measurement is interrupted meanwhile.
asio::awaitable<void> pause_for(std::chrono::milliseconds span);

}  // namespace mortise::tool

#endif
