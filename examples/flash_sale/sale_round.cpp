// SPDX-License-Identifier: BSL-1.0
#include "flash_sale/sale_round.hpp"

#include "flash_sale/attack.hpp"
#include "flash_sale/checkout.hpp"
#include "flash_sale/crowd.hpp"
#include "flash_sale/progress_bar.hpp"
#include "flash_sale/shop_database.hpp"
#include "mortise/coro/clock.hpp"

#include <chrono>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

namespace flash_sale {
namespace {

constexpr std::chrono::milliseconds look_for_stopped{100};  // how often to check on a stopped one

const char* title_of(int round) {
    switch (round) {
    case 1:
        return "round 1, without a lock";
    case 2:
        return "round 2, with a lock   ";
    case 3:
        return "round 3, under attack  ";
    default:
        return "round 4, with wallets  ";
    }
}

void let_them_buy(crowd& buyers, progress_bar& bar, round_result& result) {
    attack blows(buyers);
    std::vector<sale_event> events;
    bool more = true;
    while (more) {
        const auto before = events.size();
        more = buyers.read_events(events, look_for_stopped);
        if (result.round >= 3)
            blows.see(std::span(events).subspan(before));
        bar.show(count(events, sale_event::kind::sold));
    }
    buyers.join();
    result.refused = count(events, sale_event::kind::refused);
    result.poor = count(events, sale_event::kind::poor);
    result.killed = blows.killed();
    result.stopped = blows.stopped();
}

round_result begin_round(const sale_options& options, int round) {
    round_result result;
    result.round = round;
    result.stock = options.stock;
    return result;
}

void let_all_in(
    const sale_options& options, const std::filesystem::path& folder, round_result& result
) {
    const auto begin = mortise::clock::now();
    {
        progress_bar bar(title_of(result.round), options.stock, options.json);
        crowd buyers(options, result.round, folder);
        let_them_buy(buyers, bar, result);
    }
    result.seconds = std::chrono::duration<double>(mortise::clock::now() - begin).count();
}

round_result
sell_goods(const sale_options& options, int round, const std::filesystem::path& folder) {
    const auto file = folder / ("shop-" + std::to_string(round) + ".db");
    shop_database shop = shop_database::create(file, options.stock);
    auto result = begin_round(options, round);
    let_all_in(options, folder, result);
    result.sold = shop.count_orders();
    result.stock_left = shop.read_stock();
    return result;
}

round_result sell_for_money(const sale_options& options, const std::filesystem::path& folder) {
    // Each process that replaces a killed one has buyers of its own.
    constexpr int replaced_max = 8;
    checkout::open(folder, options.stock, (options.processes + replaced_max) * options.buyers);
    const int money = checkout::read(folder).in_wallets;
    auto result = begin_round(options, 4);
    let_all_in(options, folder, result);
    checkout::finish(folder, std::getenv("MORTISE_STORE"));
    const books found = checkout::read(folder);
    result.sold = found.sold;
    result.stock_left = found.stock;
    result.balanced = found.reserved == 0 && found.on_the_way == 0 &&
                      found.paid == found.sold * checkout::price &&
                      found.paid + found.in_wallets == money;
    return result;
}

}  // namespace

round_result
run_round(const sale_options& options, int round, const std::filesystem::path& folder) {
    return round < 4 ? sell_goods(options, round, folder) : sell_for_money(options, folder);
}

}  // namespace flash_sale
