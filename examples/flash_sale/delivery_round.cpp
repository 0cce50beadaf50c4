// SPDX-License-Identifier: BSL-1.0
#include "flash_sale/delivery_round.hpp"

#include "flash_sale/checkout.hpp"
#include "flash_sale/crowd.hpp"
#include "flash_sale/progress_bar.hpp"
#include "flash_sale/sale_databases.hpp"
#include "flash_sale/sale_event.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/outbox/operate.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <vector>

namespace flash_sale {
namespace {

namespace db = mortise::db;
namespace outbox = mortise::outbox;

constexpr int killed_max = 2;

// One process at a time; the first ones are killed when their part of the messages has arrived.
void let_them_deliver(
    sale_options options,
    const std::filesystem::path& folder,
    progress_bar& bar,
    int messages,
    delivery_result& result
) {
    options.processes = 1;
    crowd carriers(options, sale_options::delivery, folder);
    std::vector<sale_event> events;
    for (bool more = true; more;) {
        more = carriers.read_events(events, std::chrono::milliseconds(100));
        result.repeated = count(events, sale_event::kind::repeated);
        const int delivered = count(events, sale_event::kind::delivered);
        const int arrived = std::max(delivered - result.repeated, 0);
        bar.show(arrived);
        if (more && result.killed < killed_max &&
            arrived > messages * (result.killed + 1) / (killed_max + 1))
            carriers.replace(result.killed++);  // they are numbered in the order of their start
    }
    carriers.join();
}

int integer(db::connection& on, const char* sql) {
    auto row = on.query(sql);
    row.step();
    return static_cast<int>(row.integer(0));
}

int messages_in(db::connection& on) {
    return static_cast<int>(
        outbox::list(on, outbox::row_kind::waiting, 0, std::numeric_limits<int>::max()).size()
    );
}

asio::awaitable<void> read_shop(db::sqlite& goods, delivery_result& into) {
    co_await goods.async_read([&into](db::connection& on) {
        into.ordered = messages_in(on);
        into.taken_back = integer(on, "SELECT count(*) FROM sale WHERE returned > 0");
        into.twice += integer(on, "SELECT total(returned) FROM sale") - into.taken_back;
    });
}

asio::awaitable<void> read_shippers(db::sqlite& shippers, delivery_result& into) {
    co_await shippers.async_read([&into](db::connection& on) {
        into.refused = messages_in(on);
        into.shipped = integer(on, "SELECT count(DISTINCT number) FROM parcel");
        into.twice += integer(on, "SELECT count(*) FROM parcel") - into.shipped;
    });
}

void rethrow(const std::exception_ptr& thrown) {
    if (thrown)
        std::rethrow_exception(thrown);
}

void read_result(const std::filesystem::path& folder, delivery_result& into) {
    asio::io_context context;
    db::sqlite goods(context.get_executor(), database_in(folder, goods_file));
    db::sqlite shippers(context.get_executor(), database_in(folder, shipping_file));
    asio::co_spawn(context, read_shop(goods, into), rethrow);
    asio::co_spawn(context, read_shippers(shippers, into), rethrow);
    context.run();
}

}  // namespace

delivery_result
run_delivery_round(const sale_options& options, int sold, const std::filesystem::path& folder) {
    delivery_result result;
    const books before = checkout::read(folder);
    const auto begin = mortise::clock::now();
    const int messages = sold + sold / shipping::refused_share;
    progress_bar bar("delivery after round 4 ", std::max(messages, 1), options.json, "delivered");
    let_them_deliver(options, folder, bar, messages, result);
    result.seconds = std::chrono::duration<double>(mortise::clock::now() - begin).count();
    read_result(folder, result);
    bar.show(result.arrived() + result.taken_back);  // whatever those told who were killed
    const books after = checkout::read(folder);
    result.balanced = after.paid == result.shipped * checkout::price &&
                      after.paid + after.in_wallets == before.paid + before.in_wallets;
    return result;
}

}  // namespace flash_sale
