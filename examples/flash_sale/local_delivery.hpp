// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_LOCAL_DELIVERY_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_LOCAL_DELIVERY_HPP

#include "flash_sale/departments.hpp"

#include <boost/asio/awaitable.hpp>

namespace flash_sale {

/// Hands messages from one database to the other until each has had its effect.
asio::awaitable<void> deliver_locally(departments& between);

}  // namespace flash_sale

#endif
