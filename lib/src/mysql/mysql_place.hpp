// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_MYSQL_PLACE_HPP
#define MORTISE_MYSQL_PLACE_HPP

#include "mortise/coro/fwd.hpp"
#include "mortise/db/mysql_config.hpp"
#include "mysql/mysql_failure.hpp"
#include "url/store_url.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/mysql/any_connection.hpp>
#include <boost/mysql/connect_params.hpp>

#include <chrono>
#include <initializer_list>
#include <string_view>

namespace mortise::db::detail {

/// The server of a session, and what it takes to connect to it.
class mysql_place {
public:
    /// @throws error `bad_config`
    mysql_place(const asio::any_io_executor& executor, mysql_config chosen);

    boost::mysql::any_connection_params connection_settings();
    /// All but the address.
    boost::mysql::connect_params login() const;
    /// How the place is called in messages, without a password.
    std::string name() const;

    coro::time_source& time() const noexcept { return *time_; }

    const mysql_config config;

private:
    const std::shared_ptr<coro::time_source> time_;
    asio::ssl::context tls_;
};

/// Connects to the server of the place by one of the addresses of its name, within the limit.
/// @param login all but the address.
asio::awaitable<mysql_failure> connect(
    boost::mysql::any_connection& connection,
    const mysql_place& place,
    boost::mysql::connect_params login,
    std::chrono::milliseconds limit
);

bool is_mysql_scheme(std::string_view scheme) noexcept;

/// Reads the settings of a session from a URL of that scheme.
/// @param more options that are read elsewhere.
/// @throws error `bad_url`, `bad_config`
mysql_config mysql_config_of(const store_url& url, std::initializer_list<std::string_view> more);

}  // namespace mortise::db::detail

#endif
