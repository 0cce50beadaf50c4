// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_MYSQL_CONNECT_HPP
#define MORTISE_MYSQL_CONNECT_HPP

#include "mysql/mysql_failure.hpp"
#include "mysql/mysql_place.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/mysql/any_connection.hpp>
#include <boost/mysql/connect_params.hpp>
#include <boost/mysql/diagnostics.hpp>

#include <chrono>

namespace mortise::db::detail {

/// Connects to the server of the place by one of the addresses of its name, within the limit.
/// @param login all but the address.
asio::awaitable<mysql_failure> connect(
    boost::mysql::any_connection& connection,
    const mysql_place& place,
    boost::mysql::connect_params login,
    std::chrono::milliseconds limit
);

}  // namespace mortise::db::detail

#endif
