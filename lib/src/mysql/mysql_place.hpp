// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_MYSQL_PLACE_HPP
#define MORTISE_MYSQL_PLACE_HPP

#include "db/server_connection.hpp"
#include "mortise/db/mysql_config.hpp"
#include "mysql/mysql_failure.hpp"
#include "url/store_url.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/mysql/any_connection.hpp>
#include <boost/mysql/connect_params.hpp>

#include <chrono>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

namespace mortise::db::detail {

/// The server of a session with MariaDB or MySQL, and what it takes to connect to it.
class mysql_place final : public server_place, public std::enable_shared_from_this<mysql_place> {
public:
    /// @throws error `bad_config`
    explicit mysql_place(mysql_config chosen);

    const server_limits& limits() const noexcept override { return config; }
    std::shared_ptr<server_connection> connection(
        const asio::any_io_executor& strand, std::shared_ptr<coro::time_source> time
    ) override;
    server_failure refusal_of(const bound_sql&) const override { return {}; }
    /// By its meaning or, in a transaction, unasked, as most statements do that define something. A
    /// stored procedure can do so unseen.
    bool controls_transaction(std::string_view sql, bool in_transaction) const override;
    bool is_conflict(const error_code& code) const noexcept override;
    bool is_interruption(const error_code& code) const noexcept override;
    bool is_missing(const error_code& code) const noexcept override;
    void look_up(
        coro::detail::completion<void(std::exception_ptr, transaction_outcome)> done,
        const std::shared_ptr<server_session>& session,
        transaction_mark mark
    ) override;

    boost::mysql::any_connection_params connection_settings();
    /// All but the address.
    boost::mysql::connect_params login() const;
    /// The name of the place in messages, without a password.
    std::string name() const;
    /// Whether the transaction that begins now is the one that removes old rows of outcomes.
    bool purge_due() noexcept { return ++traced_ % purge_each == 0; }

    const mysql_config config;

private:
    static constexpr std::uint64_t purge_each = 256;

    asio::ssl::context tls_;
    std::uint64_t traced_ = 0;
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
