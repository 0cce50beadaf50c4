// SPDX-License-Identifier: BSL-1.0
#include "flash_sale/sale_options.hpp"

#include <charconv>
#include <string_view>

namespace flash_sale {

const char* const usage =
    R"(usage: flash_sale [--processes 4] [--buyers 32] [--stock 100] [--visits 4] [--think 30]
                  [--store sqlite|redis|URL] [--kafka HOST:PORT] [--json]

Several processes with many buyers each compete for few items. The stock is read, thought about
for --think milliseconds, and written, as careless code does. Round 1 does so without a lock,
round 2 under one. In round 3 those who hold the lock are killed, and stopped until others have it.
Round 4 is that again, with the money of the buyers in another database: one transaction goes over
stock and wallets, and each third buyer has no money. With each sale an order goes to shippers, who
refuse each seventh; then the item and the money go back. Processes that deliver are killed.

The stock is in SQLite, and so are the locks, in a file of their own: --store says where else. With
`redis` a Redis server of the sale's own is started on this host and stopped again; a URL such as
redis://127.0.0.1:6379 or postgresql://USER@HOST/DATABASE names one that runs.

The messages are handed over from database to database; with --kafka they go by these brokers.

Exit code: 0, or 1 if a round with the lock did not sell exactly the stock, or if a message was lost
or had its effect twice, or if the money does not add up.
)";

namespace {

bool read_number(std::string_view text, int least, int most, int& target) {
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), target);
    return failed == std::errc() && end == text.data() + text.size() && target >= least &&
           target <= most;
}

bool read_option(std::string_view name, std::string_view value, sale_options& options) {
    if (name == "--processes")
        return read_number(value, 1, 64, options.processes);
    if (name == "--buyers")
        return read_number(value, 1, 1'000, options.buyers);
    if (name == "--stock")
        return read_number(value, 1, 1'000'000, options.stock);
    if (name == "--visits")
        return read_number(value, 1, 1'000, options.visits);
    if (name == "--round")
        return read_number(value, 1, options.delivery, options.round);
    if (name == "--process")
        return read_number(value, 0, 255, options.process);
    if (name == "--think") {
        int ms = 0;
        const bool good = read_number(value, 0, 10'000, ms);
        options.think = std::chrono::milliseconds(ms);
        return good;
    }
    if (name == "--store") {
        options.store = value;
        return value == "sqlite" || value == "redis" || value.find(':') != value.npos;
    }
#ifdef FLASH_SALE_WITH_KAFKA
    if (name == "--kafka") {
        options.kafka = value;
        return value.find(':') != value.npos;
    }
#endif
    if (name == "--folder") {
        options.folder = value;
        return !value.empty();
    }
    return false;
}

}  // namespace

std::optional<sale_options> parse_options(int argc, char** argv) {
    sale_options options;
    for (int i = 1; i < argc; ++i) {
        const std::string_view name(argv[i]);
        if (name == "--json") {
            options.json = true;
        } else if (name == "--help" || name == "-h") {
            options.help = true;
        } else {
            if (i + 1 == argc || !read_option(name, argv[i + 1], options))
                return std::nullopt;
            ++i;
        }
    }
    return options;
}

}  // namespace flash_sale
