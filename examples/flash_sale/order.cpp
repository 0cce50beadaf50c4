// SPDX-License-Identifier: BSL-1.0
#include "flash_sale/order.hpp"

#include <cstddef>
#include <stdexcept>
#include <utility>

namespace flash_sale {

namespace outbox = mortise::outbox;

order::order(const outbox::message& from) {
    if (!from.payload)
        throw std::invalid_argument("a message about no order");
    std::size_t end = 0;
    number = std::stoi(*from.payload, &end);
    buyer = std::stoi(from.payload->substr(end));
}

outbox::message order::placed() const {
    return about("orders");
}

outbox::message order::refused(std::string why) const {
    auto message = about("refusals");
    message.headers.emplace_back("reason", std::move(why));
    return message;
}

outbox::message order::about(const char* topic) const {
    const auto digits = std::to_string(number);
    return {topic, "order " + digits, digits + " " + std::to_string(buyer)};
}

}  // namespace flash_sale
