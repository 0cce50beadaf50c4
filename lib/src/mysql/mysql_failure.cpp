// SPDX-License-Identifier: BSL-1.0
#include "mysql/mysql_failure.hpp"

#include "mortise/db/mysql_error.hpp"
#include "mortise/detail/secret.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/mysql/client_errc.hpp>
#include <boost/mysql/error_categories.hpp>
#include <boost/mysql/is_fatal_error.hpp>
#include <boost/system/errc.hpp>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace mortise::db::detail {
namespace {

using boost::mysql::client_errc;

// Errors with which the server takes leave: an operator's KILL, a shutdown, a time-out.
constexpr int farewells[] = {1053, 1077, 1079, 1080, 1152, 1184, 1927, 2006, 2013, 3169, 4031};
// Deadlock, lock time-out, full lock table, an XA deadlock, a row that changed under a snapshot.
constexpr int endings[] = {1205, 1206, 1213, 1020, 1614};

template <std::size_t Size>
bool holds(const int (&numbers)[Size], int number) noexcept {
    return std::find(std::begin(numbers), std::end(numbers), number) != std::end(numbers);
}

bool is_of_server(const error_code& code) noexcept {
    return code.category() == boost::mysql::get_common_server_category() ||
           code.category() == boost::mysql::get_mysql_server_category() ||
           code.category() == boost::mysql::get_mariadb_server_category();
}

error_code meaning_of_client(client_errc code) noexcept {
    switch (code) {
    case client_errc::auth_plugin_requires_ssl:
    case client_errc::unknown_auth_plugin:
        return errc::access_denied;
    case client_errc::server_doesnt_support_ssl:
        return errc::untrusted_server;
    case client_errc::wrong_num_params:
    case client_errc::max_buffer_size_exceeded:
        return errc::value_refused;
    default:
        return errc::wrong_server;
    }
}

error_code meaning_of_system(const error_code& code) noexcept {
    using namespace boost::system::errc;
    if (code == asio::error::operation_aborted)
        return code;
    if (code == too_many_files_open || code == too_many_files_open_in_system)
        return mortise::errc::too_many_files;
    if (code.category() == asio::error::get_ssl_category())
        return mortise::errc::untrusted_server;
    return mortise::errc::store_unavailable;
}

struct remedy {
    int number;
    std::string_view text;
};

constexpr remedy remedies[] = {
    {1040, "raise max_connections at the server, or lower connections_max"},
    {1044, "grant the user rights on that database"},
    {1045, "check user and password"},
    {1049, "create that database, or name another one"},
    {1129, "have an administrator run FLUSH HOSTS"},
    {1130, "create the user for this host, too"},
    {1205, "run the transaction again; see who holds its rows for so long"},
    {1213, "run the transaction again, or let it be repeated (attempts_max)"},
    {1317, "see who cancels the statements of this user"},
    {1698, "check user and password"},
    {1927, "see who ended the connection"},
};

std::string_view remedy_for(const error_code& code) noexcept {
    if (code == errc::store_unavailable)
        return "see whether the server runs and can be reached";
    if (code == errc::untrusted_server)
        return "name the host as its certificate does, and the authority (ca_file)";
    if (code == errc::too_many_files)
        return "raise the limit of open files (ulimit -n)";
    if (code == errc::access_denied)
        return "use TLS, which this kind of login needs, or another kind of login";
    if (code.category() != mysql_category())
        return {};
    for (const auto& each : remedies) {
        if (each.number == code.value())
            return each.text;
    }
    return {};
}

}  // namespace

error mysql_failure::to_error() const {
    return error(code, text, std::string(remedy_for(code)));
}

server_failure mysql_failure::explain(const std::string& password) const {
    return {code, mortise::detail::without_secret(text, password), std::string(remedy_for(code))};
}

mysql_failure mysql_failure_of(const error_code& reported, const boost::mysql::diagnostics& notes) {
    if (!reported)
        return {};
    if (is_of_server(reported)) {
        const bool ends =
            holds(farewells, reported.value()) || boost::mysql::is_fatal_error(reported);
        return {mysql_error(reported.value()), std::string(notes.server_message()), ends};
    }
    const bool ends = boost::mysql::is_fatal_error(reported);
    if (reported.category() == boost::mysql::get_client_category()) {
        const auto meaning = meaning_of_client(static_cast<client_errc>(reported.value()));
        return {meaning, reported.message(), ends || meaning == errc::wrong_server};
    }
    return {meaning_of_system(reported), reported.message(), ends};
}

bool ends_transaction(const error_code& code) noexcept {
    return code.category() == mysql_category() && holds(endings, code.value());
}

}  // namespace mortise::db::detail
