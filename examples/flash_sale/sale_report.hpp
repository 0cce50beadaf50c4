// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_SALE_REPORT_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_SALE_REPORT_HPP

#include "flash_sale/sale_options.hpp"
#include "flash_sale/sale_round.hpp"

namespace flash_sale {

/// A table and what to learn from it, or a JSON object, on the standard output.
void report(const sale_options& options, const round_result& without, const round_result& with);

}  // namespace flash_sale

#endif
