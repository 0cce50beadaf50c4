// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_ORDER_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_ORDER_HPP

#include "mortise/outbox/message.hpp"

#include <string>

namespace flash_sale {

/// A sold item, as shop and shippers describe it in their messages.
class order {
public:
    order(int numbered, int bought_by) : number(numbered), buyer(bought_by) {}
    /// Reads the order from a message of either kind.
    /// @throws std::invalid_argument
    explicit order(const mortise::outbox::message& from);

    /// The message to the shippers.
    mortise::outbox::message placed() const;
    /// The message of the shippers.
    mortise::outbox::message refused(std::string why) const;

    int number = 0;  ///< Counts from 1, without gaps.
    int buyer = 0;

private:
    mortise::outbox::message about(const char* topic) const;
};

}  // namespace flash_sale

#endif
