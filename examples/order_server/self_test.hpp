// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_ORDER_SERVER_SELF_TEST_HPP
#define MORTISE_EXAMPLES_ORDER_SERVER_SELF_TEST_HPP

#include <boost/asio/awaitable.hpp>

namespace order_server {

/// Runs a crowd that wants more than there is and asks twice, a server that ends during an order,
/// and another one that continues. Prints what the clients heard and what the databases hold. Uses
/// the present folder, and ports of the loopback device.
/// @throws std::exception if a server misbehaves.
boost::asio::awaitable<void> test();

}  // namespace order_server

#endif
