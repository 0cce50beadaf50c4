// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_COMMON_AWAIT_MAIN_HPP
#define MORTISE_TOOLS_COMMON_AWAIT_MAIN_HPP

#include "mortise/coro/fwd.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

namespace mortise::tool {

/// Runs `main` on this thread until it ends, then runs the context until no work is left.
/// @return the result of `main`. @throws what `main` throws.
int await_main(asio::io_context& context, asio::awaitable<int> main);

}  // namespace mortise::tool

#endif
