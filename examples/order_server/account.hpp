// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_ORDER_SERVER_ACCOUNT_HPP
#define MORTISE_EXAMPLES_ORDER_SERVER_ACCOUNT_HPP

#include "order_server/databases.hpp"

namespace order_server {

/// Prints the contents of the databases on a few lines of the standard output.
asio::awaitable<void> print_account(databases& from);

/// Prints only where the money is.
asio::awaitable<void> print_money(databases& from);

}  // namespace order_server

#endif
