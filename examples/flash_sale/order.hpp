// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_ORDER_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_ORDER_HPP

#include "mortise/outbox/message.hpp"

#include <string>

namespace flash_sale {

/// An item that was sold, as shop and shippers write to each other about it.
class order {
public:
    order(int numbered, int bought_by) : number(numbered), buyer(bought_by) {}
    /// What a message of either kind is about.
    /// @throws std::invalid_argument
    explicit order(const mortise::outbox::message& from);

    /// To the shippers.
    mortise::outbox::message placed() const;
    /// From the shippers.
    mortise::outbox::message refused(std::string why) const;

    int number = 0;  ///< From 1, without a gap.
    int buyer = 0;

private:
    mortise::outbox::message about(const char* topic) const;
};

}  // namespace flash_sale

#endif
