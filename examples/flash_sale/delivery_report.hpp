// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_DELIVERY_REPORT_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_DELIVERY_REPORT_HPP

#include "flash_sale/delivery_round.hpp"

namespace flash_sale {

/// Print the table of the delivery, and what it shows, to the standard output.
void write_delivery_table(const delivery_result& result);
void explain_delivery(const delivery_result& result);

/// Prints a JSON object.
void write_delivery_json(const delivery_result& result);

}  // namespace flash_sale

#endif
