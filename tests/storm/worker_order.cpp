// SPDX-License-Identifier: BSL-1.0
#include "storm/worker_order.hpp"

#include <stdexcept>

namespace mortise::storm {
namespace {

constexpr std::size_t words_before_sockets = 7;

}  // namespace

std::vector<std::string> worker_order::words() const {
    std::vector<std::string> result{
        store,
        std::to_string(seat),
        std::to_string(number),
        std::to_string(seed),
        std::to_string(ttl.count()),
        bug,
        std::to_string(board)};
    for (const int each : sockets)
        result.push_back(std::to_string(each));
    return result;
}

worker_order worker_order::parse(const std::vector<std::string>& words) {
    if (words.size() <= words_before_sockets)
        throw std::invalid_argument("an order with too few words");
    worker_order order;
    order.store = words[0];
    order.seat = static_cast<std::uint32_t>(std::stoul(words[1]));
    order.number = static_cast<std::uint32_t>(std::stoul(words[2]));
    order.seed = std::stoull(words[3]);
    order.ttl = std::chrono::milliseconds(std::stol(words[4]));
    order.bug = words[5];
    order.board = std::stoi(words[6]);
    for (std::size_t i = words_before_sockets; i < words.size(); ++i)
        order.sockets.push_back(std::stoi(words[i]));
    return order;
}

}  // namespace mortise::storm
