// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_SALE_OPTIONS_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_SALE_OPTIONS_HPP

#include <chrono>
#include <optional>
#include <string>

namespace flash_sale {

/// The options of the command line.
struct sale_options {
    int processes = 4;
    int buyers = 32;  ///< In each process.
    int stock = 100;
    int visits = 4;                       ///< How often each buyer comes back for one more.
    std::chrono::milliseconds think{30};  ///< Between reading the stock and writing it.
    std::string store = "sqlite";         ///< Where the locks are: `sqlite`, `redis`, or a URL.
    std::string kafka;                    ///< Brokers that carry the messages; empty: none.
    bool json = false;
    bool help = false;

    // Set only for the processes that the program starts itself.
    std::string folder;  ///< Not empty: be one process full of buyers.
    int round = 1;       ///< Or `delivery`.
    int process = 0;

    static constexpr int delivery = 5;  ///< The delivery comes after the last round.

    int demand() const { return processes * buyers * visits; }
};

/// Nothing if the arguments are not valid.
std::optional<sale_options> parse_options(int argc, char** argv);

extern const char* const usage;

}  // namespace flash_sale

#endif
