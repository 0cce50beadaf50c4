// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_SALE_REPORT_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_SALE_REPORT_HPP

#include "flash_sale/delivery_round.hpp"
#include "flash_sale/sale_options.hpp"
#include "flash_sale/sale_round.hpp"

#include <string>
#include <vector>

namespace flash_sale {

/// Prints a table and what it shows, or a JSON object, to the standard output. `store` names the
/// store of the locks.
/// @return whether each round with a lock sold exactly the stock, and each message had its effect
/// exactly once.
bool report(
    const sale_options& options,
    const std::string& store,
    const std::vector<round_result>& rounds,
    const delivery_result& delivery
);

}  // namespace flash_sale

#endif
