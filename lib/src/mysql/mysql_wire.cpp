// SPDX-License-Identifier: BSL-1.0
#include "mysql/mysql_wire.hpp"

#include "mortise/coro/detail/with_code.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/detail/secret.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/mysql/any_address.hpp>
#include <boost/mysql/metadata_mode.hpp>
#include <boost/mysql/pipeline.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

namespace mortise::db::detail {

using coro::detail::with_code;
using std::chrono::milliseconds;

namespace {

/// A look-up of a name, which Boost.Asio does on a thread of its own. It cannot be cancelled there,
/// so whoever does not wait any longer leaves it behind.
struct look_up {
    explicit look_up(const asio::any_io_executor& executor) : resolver(executor), done(executor) {}

    asio::ip::tcp::resolver resolver;
    coro::event done;
    error_code failed;
    asio::ip::tcp::resolver::results_type results;
};

// The addresses of the server, as many as its name has.
asio::awaitable<mysql_failure> look_up_server(
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
    const auto name = std::make_shared<look_up>(executor);
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

mysql_wire::mysql_wire(
    asio::any_io_executor executor,
    std::shared_ptr<mysql_place> place,
    std::shared_ptr<mysql_counts> counts
)
    : place_(std::move(place)),
      counts_(std::move(counts)),
      connection_(std::move(executor), place_->connection_settings()) {
    connection_.set_meta_mode(boost::mysql::metadata_mode::full);  // rows have names
}

asio::awaitable<mysql_failure> mysql_wire::open(milliseconds limit) {
    const auto begun = clock::now();
    const auto left = [&] {
        const auto spent = std::chrono::duration_cast<milliseconds>(clock::now() - begun);
        return std::max(limit - spent, milliseconds(1));
    };
    std::vector<boost::mysql::any_address> addresses;
    auto looking = look_up_server(place_->config, limit, addresses);
    mysql_failure failed = co_await std::move(looking);
    auto login = place_->login();
    for (const auto& each : addresses) {
        login.server_address = each;
        auto connecting =
            connection_.async_connect(login, notes_, asio::cancel_after(left(), with_code));
        const auto connected = co_await std::move(connecting);
        failed = mysql_failure_of(std::get<0>(connected), notes_);
        if (failed.code == asio::error::operation_aborted)
            failed = {errc::store_unavailable, "it does not greet in time", true};
        if (failed.code != errc::store_unavailable)
            break;
    }
    if (failed.code) {
        ++counts_->failed;
        failed.text = place_->name() + ": " + failed.text;
        co_return failed;
    }
    usable_ = true;
    opened_at = idle_since = clock::now();
    ++counts_->opened;
    // The server may be set up otherwise, and then work outside of a transaction would be lost.
    std::vector<std::string> settings = {"SET autocommit = 1"};
    auto setting = run(std::move(settings), limit);
    co_return co_await std::move(setting);
}

asio::awaitable<mysql_failure>
mysql_wire::run(std::vector<std::string> statements, milliseconds limit) {
    boost::mysql::pipeline_request request;
    for (const std::string& each : statements)
        request.add_execute(each);
    std::vector<boost::mysql::stage_response> responses;
    auto running = connection_.async_run_pipeline(
        request, responses, notes_, asio::cancel_after(limit, with_code)
    );
    const auto done = co_await std::move(running);
    mysql_failure failed = mysql_failure_of(std::get<0>(done), notes_);
    if (std::get<0>(done) == asio::error::operation_aborted)
        failed = {errc::store_unavailable, "the server does not answer in time", true};
    for (const auto& each : responses) {
        if (!failed.code || !each.error())
            continue;
        failed = mysql_failure_of(each.error(), each.diag());
        break;
    }
    note(failed);
    co_return failed;
}

asio::awaitable<bool> mysql_wire::answers(milliseconds limit) {
    auto asking = connection_.async_ping(notes_, asio::cancel_after(limit, with_code));
    const auto answer = co_await std::move(asking);
    co_return note(mysql_failure_of(std::get<0>(answer), notes_));
}

asio::awaitable<void> mysql_wire::close() {
    constexpr milliseconds limit(1'000);
    usable_ = false;
    auto closing = connection_.async_close(notes_, asio::cancel_after(limit, with_code));
    co_await std::move(closing);
}

const boost::mysql::statement* mysql_wire::find(const std::string& sql) noexcept {
    const auto found = statements_.find(sql);
    if (found == statements_.end())
        return nullptr;
    found->second.used = ++uses_;
    return &found->second.prepared;
}

void mysql_wire::keep(std::string sql, boost::mysql::statement prepared) {
    statements_.insert_or_assign(std::move(sql), kept_statement{prepared, ++uses_});
}

std::optional<boost::mysql::statement> mysql_wire::take_surplus() {
    if (statements_.size() < place_->config.statements_max)
        return std::nullopt;
    const auto oldest =
        std::min_element(statements_.begin(), statements_.end(), [](const auto& a, const auto& b) {
            return a.second.used < b.second.used;
        });
    const auto prepared = oldest->second.prepared;
    statements_.erase(oldest);
    return prepared;
}

bool mysql_wire::note(const mysql_failure& failure) {
    if (failure.ends_connection)
        usable_ = false;
    if (present.open && ends_transaction(failure.code))
        present.ending = failure.code;
    return usable_;
}

error mysql_wire::explain(mysql_failure failure) const {
    failure.text = mortise::detail::without_secret(failure.text, place_->config.password);
    return failure.to_error();
}

}  // namespace mortise::db::detail
