// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_BUYERS_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_BUYERS_HPP

#include "flash_sale/sale_options.hpp"

namespace flash_sale {

/// Runs one process full of buyers. @return its exit code.
int run_buyers(const sale_options& options);

}  // namespace flash_sale

#endif
