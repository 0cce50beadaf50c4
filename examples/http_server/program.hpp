// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_HTTP_SERVER_PROGRAM_HPP
#define MORTISE_EXAMPLES_HTTP_SERVER_PROGRAM_HPP

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <string_view>

/// What the `main` of a server is made of.
namespace http_server {

/// @throws std::invalid_argument, with how to use the program of that name, if it is none.
std::uint16_t parse_port(std::string_view text, std::string_view program);

/// Runs the coroutine, and all that it leaves behind. What it throws is thrown.
void run(boost::asio::io_context& context, boost::asio::awaitable<void> task);

}  // namespace http_server

#endif
