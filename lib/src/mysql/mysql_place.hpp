// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_MYSQL_PLACE_HPP
#define MORTISE_MYSQL_PLACE_HPP

#include "mortise/coro/fwd.hpp"
#include "mortise/db/mysql_config.hpp"

#include <boost/asio/ssl/context.hpp>
#include <boost/mysql/any_connection.hpp>
#include <boost/mysql/connect_params.hpp>

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

}  // namespace mortise::db::detail

#endif
