// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_HTTP_SERVER_SELF_TEST_HPP
#define MORTISE_EXAMPLES_HTTP_SERVER_SELF_TEST_HPP

#include <boost/asio/io_context.hpp>

namespace http_server {

/// Runs two servers that sell from the same books, and a crowd of clients that want more than there
/// is. Prints the result. Uses the present folder, and one port of the loopback device for each
/// server.
/// @throws std::exception if a server misbehaves.
void run_self_test(boost::asio::io_context& context);

}  // namespace http_server

#endif
