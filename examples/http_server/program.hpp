// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_HTTP_SERVER_PROGRAM_HPP
#define MORTISE_EXAMPLES_HTTP_SERVER_PROGRAM_HPP

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <string_view>

/// Helpers for the `main` of a server.
namespace http_server {

/// Parses a port. @throws std::invalid_argument with a hint on how to call `program`.
std::uint16_t parse_port(std::string_view text, std::string_view program);

/// Runs the coroutine and all work that it starts. Rethrows its exception.
void run(boost::asio::io_context& context, boost::asio::awaitable<void> task);

}  // namespace http_server

#endif
