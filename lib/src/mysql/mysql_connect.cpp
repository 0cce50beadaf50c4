// SPDX-License-Identifier: BSL-1.0
#include "base/name_lookup.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/with_code.hpp"
#include "mysql/mysql_place.hpp"

#include <boost/asio/cancel_after.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/mysql/any_address.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace mortise::db::detail {

using coro::detail::with_code;
using std::chrono::milliseconds;

namespace {

// The addresses of the server, as many as its name has.
asio::awaitable<mysql_failure> addresses_of(
    const mysql_config& config, milliseconds limit, std::vector<boost::mysql::any_address>& found
) {
    if (!config.socket.empty()) {
        found.emplace_back(boost::mysql::unix_path{config.socket.string()});
        co_return mysql_failure();
    }
    const auto add = [&](std::string address) {
        found.emplace_back(boost::mysql::host_and_port{std::move(address), config.port});
    };
    const auto executor = co_await asio::this_coro::executor;
    mortise::detail::name_lookup name(executor);
    auto looking = name.find(config.host, limit);
    const auto addresses = co_await std::move(looking);
    if (!addresses && addresses.error() == asio::error::timed_out)
        co_return mysql_failure(errc::store_unavailable, "its name is not found in time", true);
    if (!addresses)
        co_return mysql_failure(errc::store_unavailable, addresses.error().message(), true);
    for (const auto& each : *addresses)
        add(each.to_string());
    co_return mysql_failure();
}

}  // namespace

asio::awaitable<mysql_failure> connect(
    boost::mysql::any_connection& connection,
    const mysql_place& place,
    boost::mysql::connect_params login,
    milliseconds limit
) {
    const auto begun = clock::now();
    const auto left = [&] {
        const auto spent = std::chrono::duration_cast<milliseconds>(clock::now() - begun);
        return std::max(limit - spent, milliseconds(1));
    };
    std::vector<boost::mysql::any_address> addresses;
    auto looking = addresses_of(place.config, limit, addresses);
    mysql_failure failed = co_await std::move(looking);
    boost::mysql::diagnostics notes;
    for (const auto& each : addresses) {
        login.server_address = each;
        auto connecting =
            connection.async_connect(login, notes, asio::cancel_after(left(), with_code));
        const auto connected = co_await std::move(connecting);
        failed = mysql_failure_of(std::get<0>(connected), notes);
        if (failed.code == asio::error::operation_aborted)
            failed = {errc::store_unavailable, "it does not greet in time", true};
        if (failed.code != errc::store_unavailable)
            break;
    }
    if (failed.code)
        failed.text = place.name() + ": " + failed.text;
    co_return failed;
}

}  // namespace mortise::db::detail
