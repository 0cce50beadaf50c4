// SPDX-License-Identifier: BSL-1.0
#include "flash_sale/sale_round.hpp"

#include "flash_sale/attack.hpp"
#include "flash_sale/crowd.hpp"
#include "flash_sale/progress_bar.hpp"
#include "flash_sale/shop_database.hpp"
#include "mortise/coro/clock.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <vector>

namespace flash_sale {
namespace {

constexpr std::chrono::milliseconds look_again{100};  // for who was stopped for long enough

const char* title_of(int round) {
    switch (round) {
    case 1:
        return "round 1, without a lock";
    case 2:
        return "round 2, with a lock   ";
    default:
        return "round 3, under attack  ";
    }
}

int count(const std::vector<sale_event>& events, sale_event::kind what) {
    return static_cast<int>(std::count_if(
        events.begin(), events.end(), [what](const sale_event& each) { return each.what == what; }
    ));
}

void let_them_buy(crowd& buyers, progress_bar& bar, round_result& result) {
    attack blows(buyers);
    std::vector<sale_event> events;
    bool more = true;
    while (more) {
        const auto before = events.size();
        more = buyers.read_events(events, look_again);
        if (result.round == 3)
            blows.see(std::span(events).subspan(before));
        bar.show(count(events, sale_event::kind::sold));
    }
    buyers.join();
    result.refused = count(events, sale_event::kind::refused);
    result.killed = blows.killed();
    result.stopped = blows.stopped();
}

}  // namespace

round_result
run_round(const sale_options& options, int round, const std::filesystem::path& folder) {
    const auto file = folder / ("shop-" + std::to_string(round) + ".db");
    shop_database shop = shop_database::create(file, options.stock);
    round_result result;
    result.round = round;
    result.stock = options.stock;
    const auto begin = mortise::clock::now();
    {
        progress_bar bar(title_of(round), options.stock, options.json);
        crowd buyers(options, round, folder);
        let_them_buy(buyers, bar, result);
    }
    result.seconds = std::chrono::duration<double>(mortise::clock::now() - begin).count();
    result.sold = shop.count_orders();
    result.stock_left = shop.read_stock();
    return result;
}

}  // namespace flash_sale
