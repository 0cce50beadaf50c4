// SPDX-License-Identifier: BSL-1.0
#include "flash_sale/sale_round.hpp"

#include "flash_sale/buyers.hpp"
#include "flash_sale/crowd.hpp"
#include "flash_sale/progress_bar.hpp"
#include "flash_sale/shop_database.hpp"
#include "mortise/coro/clock.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace flash_sale {

round_result
run_round(const sale_options& options, int round, const std::filesystem::path& folder) {
    const auto file = folder / ("shop-" + std::to_string(round) + ".db");
    shop_database shop = shop_database::create(file, options.stock);
    round_result result;
    result.round = round;
    result.stock = options.stock;
    const auto begin = mortise::clock::now();
    {
        progress_bar bar(
            round == 1 ? "round 1, without a lock" : "round 2, with a lock   ",
            options.stock,
            options.json
        );
        crowd buyers(options, round, folder);
        std::vector<char> events;
        bool more = true;
        while (more) {
            more = buyers.read_events(events);
            bar.show(static_cast<int>(std::count(events.begin(), events.end(), sold)));
        }
        buyers.join();
        result.refused = static_cast<int>(std::count(events.begin(), events.end(), refused));
    }
    result.seconds = std::chrono::duration<double>(mortise::clock::now() - begin).count();
    result.sold = shop.count_orders();
    result.stock_left = shop.read_stock();
    return result;
}

}  // namespace flash_sale
