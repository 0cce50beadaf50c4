// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_KAFKA_DELIVERY_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_KAFKA_DELIVERY_HPP

#include "flash_sale/departments.hpp"

#include <boost/asio/awaitable.hpp>

#include <string>

namespace flash_sale {

/// Delivers over topics of Kafka until each message has had its effect.
asio::awaitable<void> deliver_by_kafka(departments& between, std::string servers);

}  // namespace flash_sale

#endif
