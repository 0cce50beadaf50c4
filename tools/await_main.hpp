// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_AWAIT_MAIN_HPP
#define MORTISE_TOOLS_AWAIT_MAIN_HPP

#include "mortise/coro/fwd.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

namespace mortise::tool {

/// Runs `main` on this thread to its end, and the context until nothing is left to do.
/// @return what it returns. @throws what it throws.
int await_main(asio::io_context& context, asio::awaitable<int> main);

}  // namespace mortise::tool

#endif
