// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/with_code.hpp"
#include "mortise/coro/event.hpp"
#include "mysql/mysql_place.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/mysql/any_address.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::db::detail {

using coro::detail::with_code;
using std::chrono::milliseconds;

namespace {

/// A look-up of a name, which Boost.Asio does on a thread of its own. It cannot be cancelled there,
/// so whoever does not wait any longer leaves it behind.
struct name_query {
    explicit name_query(const asio::any_io_executor& executor)
        : resolver(executor), done(executor) {}

    asio::ip::tcp::resolver resolver;
    coro::event done;
    error_code failed;
    asio::ip::tcp::resolver::results_type results;
};

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
    error_code no_address;
    asio::ip::make_address(config.host, no_address);
    if (!no_address) {
        add(config.host);
        co_return mysql_failure();
    }
    const auto executor = co_await asio::this_coro::executor;
    const auto name = std::make_shared<name_query>(executor);
    name->resolver.async_resolve(
        config.host,
        "",
        asio::ip::resolver_base::address_configured,
        asio::bind_executor(
            executor,
            [name](const auto& failed, auto results) {
                name->failed = failed;
                name->results = std::move(results);
                name->done.set();
            }
        )
    );
    auto waiting = name->done.async_wait(asio::cancel_after(limit, with_code));
    const auto waited = co_await std::move(waiting);
    if (std::get<0>(waited))
        co_return mysql_failure(errc::store_unavailable, "its name is not found in time", true);
    if (name->failed)
        co_return mysql_failure(errc::store_unavailable, name->failed.message(), true);
    for (const auto& each : name->results)
        add(each.endpoint().address().to_string());
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
