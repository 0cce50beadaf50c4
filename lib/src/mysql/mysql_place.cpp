// SPDX-License-Identifier: BSL-1.0
#include "mysql/mysql_place.hpp"

#include "mortise/db/mysql_error.hpp"
#include "mortise/detail/require.hpp"
#include "mortise/detail/tls.hpp"
#include "mysql/mysql_wire.hpp"

#include <boost/asio/ssl/host_name_verification.hpp>

#include <algorithm>
#include <utility>

namespace mortise::db::detail {
namespace {

using mortise::detail::require;

// A backquote in a name would end it; nobody needs one.
bool names_a_table(const std::string& name) {
    constexpr std::size_t name_max = 64;
    return name.size() <= name_max && std::all_of(name.begin(), name.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_';
           });
}

mysql_config checked(mysql_config config) {
    require_limits(config);
    require(!config.socket.empty() || !config.host.empty(), "host", "name the host of the server");
    require(config.port != 0, "port", "give a port from 1 to 65535");
    require(config.statements_max >= 1, "statements_max", "keep at least one statement");
    require(
        config.certificate_file.empty() == config.key_file.empty(),
        "certificate_file, key_file",
        "give both or neither"
    );
    require(
        names_a_table(config.outcome_table),
        "outcome_table",
        "use up to 64 letters, digits and underscores"
    );
    require(
        config.outcome_table.empty() || !config.database.empty(),
        "outcome_table",
        "name the database, too, in which that table is"
    );
    return config;
}

}  // namespace

mysql_place::mysql_place(mysql_config chosen)
    : config(checked(std::move(chosen))), tls_(asio::ssl::context::tls_client) {
    if (!config.tls)
        return;
    mortise::detail::tls_files files;
    files.ca = config.ca_file;
    files.certificate = config.certificate_file;
    files.key = config.key_file;
    mortise::detail::prepare_client_tls(tls_, files);
    // Otherwise any server with a certificate of the same authority would be trusted.
    tls_.set_verify_callback(asio::ssl::host_name_verification(config.host));
}

std::shared_ptr<server_connection> mysql_place::connection(
    const asio::any_io_executor& strand, std::shared_ptr<coro::time_source> time
) {
    return std::make_shared<mysql_wire>(strand, shared_from_this(), std::move(time));
}

bool mysql_place::is_conflict(const error_code& code) const noexcept {
    return ends_transaction(code);
}

bool mysql_place::is_interruption(const error_code& code) const noexcept {
    constexpr int query_interrupted = 1317;
    return code == mysql_error(query_interrupted);
}

bool mysql_place::is_missing(const error_code& code) const noexcept {
    constexpr int unknown_xid = 1397;
    return code == mysql_error(unknown_xid);
}

boost::mysql::any_connection_params mysql_place::connection_settings() {
    boost::mysql::any_connection_params settings;
    settings.ssl_context = &tls_;
    return settings;
}

boost::mysql::connect_params mysql_place::login() const {
    boost::mysql::connect_params login;
    login.username = config.user;
    login.password = config.password;
    login.database = config.database;
    login.ssl = config.tls ? boost::mysql::ssl_mode::require : boost::mysql::ssl_mode::disable;
    return login;
}

std::string mysql_place::name() const {
    if (!config.socket.empty())
        return config.socket.string();
    return config.host + ":" + std::to_string(config.port);
}

}  // namespace mortise::db::detail
