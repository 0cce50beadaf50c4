// SPDX-License-Identifier: BSL-1.0
#include "order_server/order.hpp"

#include <sstream>
#include <stdexcept>

namespace order_server {

order::order(const std::string& text) {
    std::istringstream from(text);
    if (!(from >> number >> buyer >> item >> euros >> key))
        throw std::invalid_argument("this is no order: " + text);
}

std::string order::text() const {
    return std::to_string(number) + ' ' + buyer + ' ' + item + ' ' + std::to_string(euros) + ' ' +
           key;
}

mortise::outbox::message order::about(const char* topic) const {
    return {topic, "order " + std::to_string(number), text()};
}

}  // namespace order_server
