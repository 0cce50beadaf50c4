// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_SALE_ROUND_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_SALE_ROUND_HPP

#include "flash_sale/sale_options.hpp"

#include <filesystem>

namespace flash_sale {

/// The result of a round. The shop's own database tells what was sold.
struct round_result {
    int round = 0;
    int stock = 0;
    int sold = 0;
    int stock_left = 0;
    int refused = 0;  ///< Writers that came too late.
    int killed = 0;   ///< Lock holders killed by the attack of round 3.
    int stopped = 0;  ///< Lock holders that resumed after somebody else had the lock.
    int poor = 0;     ///< Buyers with too little money, in round 4.
    double seconds = 0;
    bool balanced = true;  ///< Round 4: no money was lost or made.

    int oversold() const { return sold > stock ? sold - stock : 0; }

    /// Whether the round sold the smaller of stock and demand, and the books agree.
    bool exact(int demand) const {
        return balanced && sold == (stock < demand ? stock : demand) && stock_left == stock - sold;
    }
};

/// Opens a new shop in the folder, lets all buyers in, and counts.
/// @throws std::runtime_error
round_result run_round(const sale_options& options, int round, const std::filesystem::path& folder);

}  // namespace flash_sale

#endif
