// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_SALE_REPORT_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_SALE_REPORT_HPP

#include "flash_sale/delivery_round.hpp"
#include "flash_sale/sale_options.hpp"
#include "flash_sale/sale_round.hpp"

#include <string>
#include <vector>

namespace flash_sale {

/// A table and what to learn from it, or a JSON object, on the standard output.
/// `store`: what the locks were kept by.
/// @return whether each round with a lock sold exactly what was there, and each message had its
/// effect exactly once.
bool report(
    const sale_options& options,
    const std::string& store,
    const std::vector<round_result>& rounds,
    const delivery_result& delivery
);

}  // namespace flash_sale

#endif
