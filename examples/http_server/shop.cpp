// SPDX-License-Identifier: BSL-1.0
#include "http_server/shop.hpp"

#include "mortise/fence/sqlite.hpp"
#include "mortise/open_store.hpp"
#include "mortise/prometheus.hpp"
#include "mortise/with_lock.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <optional>
#include <utility>

namespace http_server {
namespace {

namespace db = mortise::db;
using mortise::error_code;
using mortise::sqlite_fence;
using namespace std::chrono_literals;

db::sqlite_config books_config() {
    db::sqlite_config config;
    config.path = "books.db";
    return config;
}

std::optional<std::int64_t> count_of(db::connection& on, std::string_view item) {
    auto row = on.query("SELECT left FROM stock WHERE item = ?", item);
    return row.step() ? std::optional(row.integer(0)) : std::nullopt;
}

/// A payment at another company; it takes a while.
asio::awaitable<void> charge() {
    asio::steady_timer timer(co_await asio::this_coro::executor, 10ms);
    co_await timer.async_wait(asio::deferred);
}

}  // namespace

shop::shop(const asio::any_io_executor& executor, std::string label)
    : label_(std::move(label)),
      locks_(executor, mortise::open_store("sqlite:locks.db")),
      books_(executor, books_config()) {}

asio::awaitable<void> shop::open() {
    co_await books_.async_run([](db::connection& on) {
        on.run("CREATE TABLE IF NOT EXISTS stock(item TEXT PRIMARY KEY, left INTEGER NOT NULL)");
    });
}

asio::awaitable<void> shop::put_in_stock(std::string item, std::int64_t count) {
    co_await books_.async_run([&item, count](db::connection& on) {
        on.run("INSERT OR REPLACE INTO stock VALUES(?, ?)", item, count);
    });
}

asio::awaitable<void> shop::stop() {
    co_await locks_.async_stop();
    co_await books_.async_stop();
}

asio::awaitable<response> shop::route(const request& incoming) {
    constexpr std::string_view buy_path = "/buy/";
    constexpr std::string_view stock_path = "/stock/";
    const std::string_view target = incoming.target();
    if (incoming.method() == http::verb::post && target.starts_with(buy_path))
        co_return co_await buy(std::string(target.substr(buy_path.size())));
    if (incoming.method() == http::verb::get && target.starts_with(stock_path))
        co_return co_await look(std::string(target.substr(stock_path.size())));
    if (incoming.method() == http::verb::get && target == "/metrics") {
        std::string page = mortise::prometheus_text(locks_.stats(), label_);
        co_return make_response(http::status::ok, std::move(page));
    }
    co_return make_response(http::status::not_found, "no such page\n");
}

// Makes purchases of one item take turns, across all processes. Different items do not block each
// other.
asio::awaitable<response> shop::buy(std::string item) {
    http::status status = http::status::ok;
    std::string text = co_await mortise::with_lock(
        locks_,
        "item/" + item,
        {.wait_max = 5s},
        [&](const mortise::lease& held) { return sell_one(item, held.token(), status); }
    );
    co_return make_response(status, std::move(text));
}

// Reads, thinks, writes. The fence is raised before the read and checked again with the write: a
// server that was stopped in between sells nothing.
asio::awaitable<std::string>
shop::sell_one(std::string item, mortise::fencing_token token, http::status& status) {
    using left = std::optional<std::int64_t>;
    const left before = co_await books_.async_run([&](db::connection& on) -> mortise::result<left> {
        if (const error_code late = sqlite_fence::raise(on.handle(), item, token))
            return late;
        return count_of(on, item);
    });
    if (!before || *before == 0) {
        status = before ? http::status::conflict : http::status::not_found;
        co_return before ? "none is left\n" : "no such item\n";
    }
    co_await charge();
    co_await books_.async_run([&](db::connection& on) -> mortise::result<void> {
        if (const error_code late = sqlite_fence::admit(on.handle(), item, token))
            return late;
        on.run("UPDATE stock SET left = ? WHERE item = ?", *before - 1, item);
        return {};
    });
    co_return std::to_string(*before - 1) + " left\n";
}

asio::awaitable<response> shop::look(std::string item) {
    const auto left =
        co_await books_.async_read([&](db::connection& on) { return count_of(on, item); });
    if (!left)
        co_return make_response(http::status::not_found, "no such item\n");
    co_return make_response(http::status::ok, std::to_string(*left) + '\n');
}

}  // namespace http_server
