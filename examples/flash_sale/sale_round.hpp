// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_SALE_ROUND_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_SALE_ROUND_HPP

#include "flash_sale/sale_options.hpp"

#include <filesystem>

namespace flash_sale {

/// What a round came to. The shop's own database says what was sold.
struct round_result {
    int round = 0;
    int stock = 0;
    int sold = 0;
    int stock_left = 0;
    int refused = 0;  ///< Writers that came too late.
    int killed = 0;   ///< Holders of the lock, by the attack of round 3.
    int stopped = 0;  ///< Of those, who went on when somebody else had the lock.
    int poor = 0;     ///< Buyers without enough money, in round 4.
    double seconds = 0;
    bool balanced = true;  ///< In round 4: no money was lost or made.

    int oversold() const { return sold > stock ? sold - stock : 0; }

    /// Sold what was there and what was asked for, and the books agree.
    bool exact(int demand) const {
        return balanced && sold == (stock < demand ? stock : demand) && stock_left == stock - sold;
    }
};

/// Opens a new shop in the folder, lets all buyers in and counts.
/// @throws std::runtime_error
round_result run_round(const sale_options& options, int round, const std::filesystem::path& folder);

}  // namespace flash_sale

#endif
