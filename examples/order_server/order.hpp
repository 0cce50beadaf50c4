// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_ORDER_SERVER_ORDER_HPP
#define MORTISE_EXAMPLES_ORDER_SERVER_ORDER_HPP

#include "mortise/outbox/message.hpp"

#include <cstdint>
#include <string>

namespace order_server {

/// What somebody wants, or has bought, as all who take part write to each other about it.
class order {
public:
    order() = default;  // declared: no aggregate (docs/compilers.md, G3)
    /// @throws std::invalid_argument if it is not what `text` makes.
    explicit order(const std::string& text);

    /// No part of it has spaces in it.
    std::string text() const;

    /// The item's lock.
    std::string lock() const { return "item/" + item; }

    /// A message about it, in the order of what else is written about it.
    mortise::outbox::message about(const char* which) const;

    std::int64_t number = 0;  ///< Zero until it is in the shop's book.
    std::string buyer;
    std::string item;
    std::int64_t euros = 0;
    std::string key;  ///< By which the buyer's own repetition of it is known.
};

/// What is written about orders.
namespace topic {
inline constexpr const char* orders = "orders";        ///< To the shippers.
inline constexpr const char* shipments = "shipments";  ///< From them: it is on its way.
inline constexpr const char* refusals = "refusals";    ///< From them: it has to be taken back.
}  // namespace topic

}  // namespace order_server

#endif
