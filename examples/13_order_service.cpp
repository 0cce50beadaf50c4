// SPDX-License-Identifier: BSL-1.0
// An order takes a lamp from the stock, its price from a wallet, and a coupon; or nothing at all.
// Stock, wallet and coupons are three services: each is a process with its own database, called
// over HTTP. While the orders run, the wallet service is killed and started again.
//
// Orders 11 to 18 come from customers without money. Orders 31 to 40 each use a coupon that one of
// the orders 1 to 10 uses as well: only one of the two gets it.
//
//     13_order_service
//
// Prints:
//     40 orders: 22 carried out, 18 given up
//     service   there were   used   free   reserved
//     stock            100     22     78          0
//     wallet          3200   2200   1000          0
//     coupon            30     22      8          0
//     All of it agrees, though the wallet was killed on the way.

#include "mortise/coro/task_scope.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/txn/coordinator.hpp"
#include "mortise/txn/http/http_participant.hpp"
#include "order/service.hpp"
#include "order/service_process.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;
namespace db = mortise::db;
namespace txn = mortise::txn;
using services = std::vector<std::unique_ptr<order::service_process>>;

constexpr int orders = 40;
constexpr int price = 100;
constexpr int killed_after = 5;  // decided orders

struct tally {
    int decided = 0;
    int carried_out = 0;
};

// [order]
asio::awaitable<void> place(txn::coordinator& coordinator, int number, tally& counts) {
    const int coupon = number <= 30 ? number : number - 30;
    txn::transaction wanted;
    wanted.add("stock", "lamp 1");
    wanted.add("wallet", "customer-" + std::to_string(number) + ' ' + std::to_string(price));
    wanted.add("coupon", "coupon-" + std::to_string(coupon) + " 1");
    const auto outcome = co_await coordinator.async_run(wanted);
    ++counts.decided;
    counts.carried_out += outcome.confirmed() ? 1 : 0;
    const auto settled =
        co_await coordinator.async_settle(outcome.gid());  // all can be counted then
}
// [order]

asio::awaitable<void> kill_the_wallet(services& all, const tally& counts) {
    const auto time = mortise::coro::make_boot_time_source(co_await asio::this_coro::executor);
    while (counts.decided < killed_after)
        co_await time->async_wait_until(time->now() + std::chrono::milliseconds(1));
    all[1]->kill_and_start_again();
}

asio::awaitable<void> run(const std::filesystem::path& folder, services& all, tally& counts) {
    const auto executor = co_await asio::this_coro::executor;
    txn::coordinator_config config;
    config.log = folder / "log.db";
    config.try_attempts_max = 50;
    config.retry_max = std::chrono::milliseconds(500);
    for (const auto& each : all) {
        config.participants[each->name()] =
            std::make_shared<txn::http_participant>(executor, txn::http_client_config(each->url()));
    }
    txn::coordinator coordinator(executor, config);
    mortise::coro::task_scope scope(executor);
    for (int i = 1; i <= orders; ++i)
        scope.spawn(place(coordinator, i, counts));
    scope.spawn(kill_the_wallet(all, counts));
    co_await scope.join();
    co_await coordinator.async_stop();
}

struct account {
    std::int64_t used = 0;
    std::int64_t free = 0;
    std::int64_t reserved = 0;
};

asio::awaitable<account> look(const std::filesystem::path& folder, const std::string& service) {
    db::sqlite_config config;
    config.path = order::database_of(folder, service);
    db::sqlite shelf(co_await asio::this_coro::executor, config);
    auto reading = [](db::connection& on) {
        auto row = on.query("SELECT sum(used), sum(free), sum(reserved) FROM shelf");
        row.step();
        return account{row.integer(0), row.integer(1), row.integer(2)};
    };
    auto looking = shelf.async_read(reading);
    const account found = co_await std::move(looking);
    co_await shelf.async_stop();
    co_return found;
}

asio::awaitable<void>
report(const std::filesystem::path& folder, const tally& counts, bool& agrees) {
    std::cout << orders << " orders: " << counts.carried_out << " carried out, "
              << orders - counts.carried_out << " given up\n"
              << "service   there were   used   free   reserved\n";
    for (const char* service : {"stock", "wallet", "coupon"}) {
        const account found = co_await look(folder, service);
        const int each = std::string_view(service) == "wallet" ? price : 1;
        agrees = agrees && found.reserved == 0 && found.used == each * counts.carried_out;
        std::cout << std::left << std::setw(10) << service << std::right << std::setw(10)
                  << found.used + found.free + found.reserved << std::setw(7) << found.used
                  << std::setw(7) << found.free << std::setw(11) << found.reserved << '\n';
    }
    std::cout
        << (agrees ? "All of it agrees, though the wallet was killed on the way.\n"
                   : "It does not agree. That must not happen.\n");
}

void create_databases(const std::filesystem::path& folder) {
    const std::string numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                                " WHERE i < 40) ";
    order::create_database(folder, "stock", "VALUES('lamp', 100)");
    order::create_database(
        folder,
        "wallet",
        numbers +
            "SELECT 'customer-' || i, CASE WHEN i BETWEEN 11 AND 18 THEN 0 ELSE 100 END FROM n"
    );
    order::create_database(
        folder, "coupon", numbers + "SELECT 'coupon-' || i, 1 FROM n WHERE i <= 30"
    );
}

// Runs the coroutine to its end.
void wait_for(asio::awaitable<void> task) {
    asio::io_context context{1};
    std::exception_ptr failed;
    asio::co_spawn(context, std::move(task), [&failed](std::exception_ptr why) {
        failed = std::move(why);
    });
    context.run();
    if (failed)
        std::rethrow_exception(failed);
}

int run_all() {
    const auto folder = std::filesystem::current_path();
    create_databases(folder);
    services all;
    for (const char* each : {"stock", "wallet", "coupon"})
        all.push_back(std::make_unique<order::service_process>(folder, each));
    tally counts;
    wait_for(run(folder, all, counts));
    all.clear();
    bool agrees = true;
    wait_for(report(folder, counts, agrees));
    return agrees ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc == 5 && std::string_view(argv[1]) == "--service")
        return order::serve(
            argv[3], argv[2], static_cast<std::uint16_t>(std::strtoul(argv[4], nullptr, 10))
        );
    return run_all();
} catch (const std::exception& e) {
    std::cerr << "order: " << e.what() << '\n';
    return 2;
}
