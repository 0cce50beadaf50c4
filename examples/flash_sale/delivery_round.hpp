// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_DELIVERY_ROUND_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_DELIVERY_ROUND_HPP

#include "flash_sale/ledger.hpp"
#include "flash_sale/sale_options.hpp"
#include "flash_sale/shipping.hpp"

#include <filesystem>

namespace flash_sale {

/// What became of the orders of round 4.
struct delivery_result : ledger {
    int repeated = 0;  ///< Messages that came again, without effect.
    int killed = 0;    ///< Processes that delivered.
    double seconds = 0;
    bool balanced = true;  ///< No money was lost or made.

    /// Whether each message had its effect exactly once.
    bool exact() const {
        return balanced && settled() && ordered == sold && twice == 0 &&
               refused == ordered / shipping::refused_share;
    }
};

/// Delivers the orders of round 4 in `folder`, and now and then kills the process that delivers.
/// @throws std::runtime_error
delivery_result
run_delivery_round(const sale_options& options, const std::filesystem::path& folder);

}  // namespace flash_sale

#endif
