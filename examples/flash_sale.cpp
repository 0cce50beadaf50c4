// SPDX-License-Identifier: BSL-1.0
// The flash sale: several processes, each with many buyers, compete for a few items.
//
// A buyer reads the stock, thinks, and writes it in separate steps, as careless code does. Round 1
// uses no lock and sells more than there is. Round 2 does the same under a lock that all processes
// share, and sells exactly the stock. In round 3 holders of the lock are killed, or stopped until
// somebody else has the lock; the sale still sells exactly the stock. In round 4 the buyers pay
// from wallets in another database, by transactions under the lock. Each sale writes a message to
// the shippers. They ship most of the goods and refuse the rest, and their messages make the shop
// take those sales back. The processes that deliver the messages are killed, too.
//
// Read these files in flash_sale/: buyers.cpp, checkout.cpp, delivery.cpp, shipping.cpp,
// refund.cpp. The others start processes, attack them, count, and print.

#include "flash_sale/buyers.hpp"
#include "flash_sale/delivery.hpp"
#include "flash_sale/delivery_round.hpp"
#include "flash_sale/interruption.hpp"
#include "flash_sale/sale_options.hpp"
#include "flash_sale/sale_report.hpp"
#include "flash_sale/sale_round.hpp"
#include "flash_sale/sale_store.hpp"

#include <stdlib.h>

#include <exception>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace {

/// A new temporary folder, removed at the end of the scope.
class sale_folder {
public:
    sale_folder() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "flash-sale-XXXXXX").native();
        if (::mkdtemp(pattern.data()) == nullptr)
            throw std::runtime_error("no temporary folder can be made: " + pattern);
        path_ = pattern;
    }
    ~sale_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    sale_folder(const sale_folder&) = delete;
    sale_folder& operator=(const sale_folder&) = delete;

    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

int run_sale(const flash_sale::sale_options& options) {
    flash_sale::listen_for_interruption();
    const sale_folder folder;
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
