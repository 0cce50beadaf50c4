// SPDX-License-Identifier: BSL-1.0
// Your own server, built on Boost.Beast. It serves its own pages, and below /internal/txn a
// participant of transactions. Coordinators must send a token there; a call without it is refused.
//
// Prints:
//     in stock: 10
//     3 lamps: confirmed
//     8 lamps: cancelled, there are not so many
//     a call without the token: 401
//     in stock: 7

#include "http_server/customer.hpp"
#include "http_server/handler.hpp"
#include "http_server/program.hpp"
#include "http_server/server.hpp"
#include "mortise/coro/task_scope.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/txn/barrier.hpp"
#include "mortise/txn/coordinator.hpp"
#include "mortise/txn/functions.hpp"
#include "mortise/txn/http/http_participant.hpp"
#include "mortise/txn/http/participant_routes.hpp"

#include <boost/asio/this_coro.hpp>

#include <csignal>
#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace asio = boost::asio;
namespace db = mortise::db;
namespace http = boost::beast::http;
namespace txn = mortise::txn;
using http_server::request;
using http_server::response;

namespace {

const std::string token = "only-the-shop-knows-it";  // in production use http_caller::token_file

//[mount
// Takes Beast's request, returns Beast's response. The server reads the one and writes the other.
asio::awaitable<response> mounted(const txn::participant_routes& routes, const request& incoming) {
    txn::http_request asked;
    asked.method = incoming.method_string();
    asked.target = incoming.target();
    for (const auto& field : incoming)
        asked.headers.add(field.name_string(), field.value());
    asked.body = incoming.body();
    auto answering = routes.answer(std::move(asked));
    const txn::http_response reply = co_await std::move(answering);
    response answer;
    answer.result(reply.status);
    for (const auto& [name, value] : reply.headers)
        answer.insert(name, value);
    answer.body() = reply.body;
    co_return answer;
}
//]

txn::reply work(db::connection& on, const txn::call& call) {
    const std::int64_t lamps = std::stoll(call.payload);
    switch (call.type) {
    case txn::operation::try_:
        on.run("UPDATE shelf SET free = free - ?1, kept = kept + ?1 WHERE free >= ?1", lamps);
        return on.changes() == 1 ? txn::reply::done()
                                 : txn::reply::refused("there are not so many");
    case txn::operation::confirm:
        on.run("UPDATE shelf SET kept = kept - ?1", lamps);
        break;
    case txn::operation::cancel:
        on.run("UPDATE shelf SET free = free + ?1, kept = kept - ?1", lamps);
        break;
    }
    return txn::reply::done();
}

asio::awaitable<txn::reply> carry_out(db::sqlite& shelf, const txn::call& call) {
    co_return co_await shelf.async_run([&call](db::connection& on) {
        return txn::barrier::pass(on, call, [&] { return work(on, call); });
    });
}

//[routes
txn::participant_routes routes_to(db::sqlite& shelf) {
    const auto doing = [&shelf](const txn::call& call) { return carry_out(shelf, call); };
    txn::participant_map served;
    served.emplace("stock", txn::make_participant(doing, doing, doing));
    txn::participant_routes_config how;
    how.prefix = "/internal/txn";
    how.access.callers.emplace_back("the shop", token);
    return {std::move(served), std::move(how)};
}
//]

/// A warehouse with its own page and its own participant.
class warehouse final : public http_server::handler {
public:
    explicit warehouse(db::sqlite& shelf) : shelf_(shelf), routes_(routes_to(shelf)) {}

    asio::awaitable<void> stop() override { co_await shelf_.async_stop(); }

protected:
    asio::awaitable<response> route(const request& incoming) override {
        if (routes_.owns(incoming.target()))
            co_return co_await mounted(routes_, incoming);
        if (incoming.target() != "/stock")
            co_return make_response(http::status::not_found, "there is nothing\n");
        const auto free = co_await shelf_.async_read([](db::connection& on) {
            auto row = on.query("SELECT free FROM shelf");
            return row.step() ? row.integer(0) : 0;
        });
        co_return make_response(http::status::ok, std::to_string(free));
    }

private:
    db::sqlite& shelf_;
    const txn::participant_routes routes_;
};

asio::awaitable<void> order(txn::coordinator& tcc, int lamps) {
    txn::transaction wanted;
    wanted.add("stock", std::to_string(lamps));
    const auto outcome = co_await tcc.async_run(std::move(wanted));
    std::cout << lamps
              << " lamps: " << (outcome.confirmed() ? "confirmed" : "cancelled, " + outcome.text())
              << '\n';
    const auto settled = co_await tcc.async_settle(outcome.gid());  // the stock is updated
}

asio::awaitable<void> look(http_server::customer& visitor) {
    const auto page = co_await visitor.ask(http::verb::get, "/stock");
    std::cout << "in stock: " << page.body() << '\n';
}

asio::awaitable<void> shop(const http_server::server& door) {
    const auto executor = co_await asio::this_coro::executor;
    http_server::customer visitor(executor, door.address());
    co_await look(visitor);
    txn::http_client_config where(
        "http://127.0.0.1:" + std::to_string(door.address().port()) + "/internal/txn/stock"
    );
    where.token = token;
    txn::coordinator_config how;
    how.log = "log.db";
    how.participants["stock"] = std::make_shared<txn::http_participant>(executor, where);
    txn::coordinator tcc(executor, how);
    co_await order(tcc, 3);
    co_await order(tcc, 8);
    const auto denied = co_await visitor.ask(http::verb::post, "/internal/txn/stock/try");
    std::cout << "a call without the token: " << denied.result_int() << '\n';
    co_await look(visitor);
    co_await tcc.async_stop();
    if (std::raise(SIGTERM) != 0)
        throw std::runtime_error("no signal can be sent");
}

asio::awaitable<void> run(asio::any_io_executor executor) {
    db::sqlite_config file;
    file.path = "shelf.db";
    db::sqlite shelf(executor, file);
    co_await shelf.async_run([](db::connection& on) {
        on.run("CREATE TABLE IF NOT EXISTS shelf(free INTEGER NOT NULL, kept INTEGER NOT NULL)");
        on.run("DELETE FROM shelf");
        on.run("INSERT INTO shelf VALUES(10, 0)");
    });
    warehouse behind(shelf);
    http_server::server door(executor, behind, {asio::ip::address_v4::loopback(), 0});
    mortise::coro::task_scope both(executor);
    both.spawn(door.run());
    both.spawn(shop(door));
    co_await both.join();
}

}  // namespace

int main() try {
    asio::io_context context;
    http_server::run(context, run(context.get_executor()));
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
