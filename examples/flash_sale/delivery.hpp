// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_DELIVERY_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_DELIVERY_HPP

#include "flash_sale/sale_options.hpp"

namespace flash_sale {

/// Runs the process that carries the orders of round 4 to the shippers, and their refusals to the
/// shop, until none is left. It may be killed at any time; the next one continues. @return its exit
/// code.
int run_delivery(const sale_options& options);

}  // namespace flash_sale

#endif
