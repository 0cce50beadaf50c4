// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_ORDER_SERVER_WISH_HPP
#define MORTISE_EXAMPLES_ORDER_SERVER_WISH_HPP

#include "http_server/customer.hpp"

#include <string>
#include <utility>

namespace order_server {

/// An order that a client sends as often as it likes, and the answers to it.
class wish {
public:
    wish(std::string who, std::string item, std::string named)
        : buyer_(std::move(who)), item_(std::move(item)), key_(std::move(named)) {}

    /// Sends the order until an answer tells its result.
    boost::asio::awaitable<void> send(http_server::customer& by);

    const http_server::response& answer() const { return answer_; }
    unsigned status() const { return answer_.result_int(); }
    /// The page that shows what has become of the order.
    std::string page() const;
    /// How many answers differed from the one before.
    int differing() const { return differing_; }

private:
    std::string buyer_;
    std::string item_;
    std::string key_;
    http_server::response answer_;
    int answers_ = 0;
    int differing_ = 0;
};

}  // namespace order_server

#endif
