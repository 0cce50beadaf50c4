// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_ORDER_SERVER_ORDER_HPP
#define MORTISE_EXAMPLES_ORDER_SERVER_ORDER_HPP

#include "mortise/outbox/message.hpp"

#include <cstdint>
#include <string>

namespace order_server {

/// An order, as all parties write it in their messages.
class order {
public:
    order() = default;  // declared: no aggregate (docs/compilers.md, G3)
    /// @throws std::invalid_argument if `text` is not a result of `text()`.
    explicit order(const std::string& text);

    /// No field may contain spaces.
    std::string text() const;

    /// The name of the item's lock.
    std::string lock() const { return "item/" + item; }

    /// A message about this order. Messages about one order keep their order.
    mortise::outbox::message about(const char* topic) const;

    std::int64_t number = 0;  ///< Zero until the shop's book has it.
    std::string buyer;
    std::string item;
    std::int64_t euros = 0;
    std::string key;  ///< Tells the buyer's repetition of an order from a new one.
};

/// The topics of messages about orders.
namespace topic {
inline constexpr const char* orders = "orders";        ///< To the shippers.
inline constexpr const char* shipments = "shipments";  ///< From them: the parcel is on its way.
inline constexpr const char* refusals = "refusals";    ///< From them: take the sale back.
}  // namespace topic

}  // namespace order_server

#endif
