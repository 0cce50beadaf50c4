// SPDX-License-Identifier: BSL-1.0
#include "flash_sale/delivery_round.hpp"

#include "flash_sale/checkout.hpp"
#include "flash_sale/crowd.hpp"
#include "flash_sale/progress_bar.hpp"
#include "flash_sale/sale_databases.hpp"
#include "flash_sale/sale_event.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/db/sqlite.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <vector>

namespace flash_sale {
namespace {

namespace db = mortise::db;

constexpr int killed_max = 2;

// Runs one delivery process at a time. Kills the first ones when their share of the messages has
// arrived.
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
        const int arrived = count(events, sale_event::kind::delivered);
        bar.show(std::min(arrived, messages));
        if (more && result.killed < killed_max &&
            arrived > messages * (result.killed + 1) / (killed_max + 1))
            carriers.replace(result.killed++);  // numbered in the order of their start
    }
    carriers.join();
}

void read_books(const std::filesystem::path& folder, ledger& into) {
    asio::io_context context;
    db::sqlite goods(context.get_executor(), database_in(folder, goods_file));
    db::sqlite wallets(context.get_executor(), database_in(folder, wallets_file));
    db::sqlite shippers(context.get_executor(), database_in(folder, shipping_file));
    asio::co_spawn(context, read_ledger(goods, wallets, shippers, into), rethrow);
    context.run();
}

}  // namespace

delivery_result
run_delivery_round(const sale_options& options, const std::filesystem::path& folder) {
    delivery_result result;
    const books before = checkout::read(folder);
    const auto begin = mortise::clock::now();
    // Two inboxes receive each refusal.
    const int messages = before.sold + 2 * (before.sold / shipping::refused_share);
    progress_bar bar("delivery after round 4 ", std::max(messages, 1), options.json, "delivered");
    let_them_deliver(options, folder, bar, messages, result);
    result.seconds = std::chrono::duration<double>(mortise::clock::now() - begin).count();
    read_books(folder, result);
    bar.show(result.arrived() + 2 * result.taken_back);  // killed processes may have reported less
    const books after = checkout::read(folder);
    result.balanced = after.paid + after.in_wallets == before.paid + before.in_wallets;
    return result;
}

}  // namespace flash_sale
