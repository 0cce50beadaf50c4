// SPDX-License-Identifier: BSL-1.0
#include "support/redis_exchange.hpp"

#include "support/redis_value.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace mortise::test {
namespace {

constexpr std::array<std::string_view, 6> subscribing = {
    "SUBSCRIBE", "UNSUBSCRIBE", "PSUBSCRIBE", "PUNSUBSCRIBE", "SSUBSCRIBE", "SUNSUBSCRIBE"};

std::string upper(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](char c) {
        return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    return text;
}

std::string first_word(const redis_value& value) {
    return value.items.empty() ? std::string() : value.items.front().text;
}

}  // namespace

std::string command_name(const resp_message& command) {
    return upper(first_word(decode_redis_value(command.bytes)));
}

std::string redis_exchange::sent(const resp_message& command, fate of_reply) {
    const redis_value words = decode_redis_value(command.bytes);
    entry pending;
    pending.name = upper(first_word(words));
    pending.of_reply = of_reply;
    pending.subscribes =
        std::find(subscribing.begin(), subscribing.end(), pending.name) != subscribing.end();
    // A command that names no channel means all of them; only its first confirmation is known to be
    // its.
    if (pending.subscribes && words.items.size() > 2)
        pending.left = words.items.size() - 1;
    open_.push_back(pending);
    return pending.name;
}

redis_exchange::answer redis_exchange::received(const resp_message& message) {
    answer result;
    result.is_push = message.is_push();
    if (result.is_push) {
        result.name = first_word(decode_redis_value(message.bytes));
        if (!open_.empty() && open_.front().subscribes &&
            open_.front().name == upper(result.name)) {
            result.to_be = open_.front().of_reply;
            confirm();
        }
        return result;
    }
    if (open_.empty())
        return result;  // the server speaks first when it has too many clients
    result.name = open_.front().name;
    result.to_be = open_.front().of_reply;
    if (message.is_error())
        open_.front().left = 1;
    confirm();
    return result;
}

void redis_exchange::confirm() {
    if (--open_.front().left == 0)
        open_.pop_front();
}

}  // namespace mortise::test
