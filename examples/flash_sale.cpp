// SPDX-License-Identifier: BSL-1.0
// The flash sale: several processes with many buyers each compete for few items.
//
// The stock is read, thought about and written, in separate steps, as careless code does. Round 1
// does it without a lock and sells more than there is; round 2 does the same under a lock that all
// processes share, and sells exactly the stock. In round 3 those who hold the lock are killed, or
// stopped until somebody else has it, and the stock is sold exactly still. In round 4 the buyers
// pay from wallets in another database, by transactions under the lock, and with each sale a
// message is put down for the shippers. These ship most of the goods and refuse the rest, by
// messages upon which the shop takes back what it sold; those who deliver are killed, too.
//
// What matters is in flash_sale/: buyers.cpp, checkout.cpp, delivery.cpp, shipping.cpp, refund.cpp.
// The rest starts processes, does them harm, counts and shows.

#include "flash_sale/buyers.hpp"
#include "flash_sale/delivery.hpp"
#include "flash_sale/delivery_round.hpp"
#include "flash_sale/interruption.hpp"
#include "flash_sale/sale_folder.hpp"
#include "flash_sale/sale_options.hpp"
#include "flash_sale/sale_report.hpp"
#include "flash_sale/sale_round.hpp"
#include "flash_sale/sale_store.hpp"

#include <exception>
#include <iostream>
#include <vector>

namespace {

int run_sale(const flash_sale::sale_options& options) {
    flash_sale::listen_for_interruption();
    const flash_sale::sale_folder folder;
    const flash_sale::sale_store locks(options.store, folder.path());
    std::vector<flash_sale::round_result> rounds;
    for (const int round : {1, 2, 3, 4})
        rounds.push_back(flash_sale::run_round(options, round, folder.path()));
    const auto delivery = flash_sale::run_delivery_round(options, folder.path());
    return flash_sale::report(options, locks.title(), rounds, delivery) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
    const auto options = flash_sale::parse_options(argc, argv);
    if (!options || options->help) {
        (options ? std::cout : std::cerr) << flash_sale::usage;
        return options ? 0 : 64;
    }
    if (!options->folder.empty())
        return options->round == flash_sale::sale_options::delivery
                   ? flash_sale::run_delivery(*options)
                   : flash_sale::run_buyers(*options);
    return run_sale(*options);
} catch (const std::exception& e) {
    std::cerr << "flash_sale: " << e.what() << '\n';
    return 2;
}
