// SPDX-License-Identifier: BSL-1.0
#include "redis_model/twin.hpp"

#include "redis_model/words.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace mortise::test {
namespace {

using value = store_detail::redis_value;
using real_value = test::redis_value;
using kind = value::kind;

kind kind_of(real_value::kind real) {
    switch (real) {
    case real_value::kind::null:
        return kind::null;
    case real_value::kind::number:
        return kind::number;
    case real_value::kind::error:
        return kind::error;
    case real_value::kind::text:
    case real_value::kind::real:
    case real_value::kind::boolean:
        return kind::text;
    default:
        return kind::array;
    }
}

bool before(const value& a, const value& b) {
    return shown(a) < shown(b);
}

void sort_pairs(std::vector<value>& items) {
    std::vector<std::pair<std::string, std::string>> pairs;
    for (std::size_t i = 0; i + 1 < items.size(); i += 2)
        pairs.emplace_back(items[i].text, items[i + 1].text);
    std::sort(pairs.begin(), pairs.end());
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        items[2 * i].text = pairs[i].first;
        items[2 * i + 1].text = pairs[i].second;
    }
}

}  // namespace

value as_modelled(const real_value& real) {
    value result;
    result.type = kind_of(real.type);
    result.text = real.text;
    result.number = real.number;
    for (const auto& each : real.items)
        result.items.push_back(as_modelled(each));
    return result;
}

std::string shown(const value& reply) {
    switch (reply.type) {
    case kind::null:
        return "null";
    case kind::number:
        return std::to_string(reply.number);
    case kind::text:
        return "\"" + reply.text + "\"";
    case kind::error:
        return "!" + reply.text;
    case kind::array:
        break;
    }
    std::string text = "[";
    for (const auto& each : reply.items)
        text += (text.size() > 1 ? " " : "") + shown(each);
    return text + "]";
}

value settled(const std::vector<std::string>& words, value reply) {
    const std::string name = redis_model::upper(words.front());
    if (name == "HGETALL" && reply.type == kind::array)
        sort_pairs(reply.items);
    if (name == "HSCAN" && reply.type == kind::array)
        sort_pairs(reply.items.at(1).items);
    if (name == "HKEYS" || name == "HVALS" || name == "SMEMBERS" || name == "KEYS")
        std::sort(reply.items.begin(), reply.items.end(), &before);
    if (name == "PTTL" && reply.number > 0)
        reply.number = 1;
    if (name == "TIME")
        reply = {};
    return reply;
}

twin::twin(std::uint16_t port, redis_model::model_redis& model, greeting how)
    : real_(port),
      model_(model),
      id_(model.connect([this](value push) { heard_.push_back(std::move(push)); })) {
    if (how == greeting::usual)
        real_.command({"HELLO", "3"});
}

twin::replies twin::execute(const std::vector<std::string>& words) {
    replies both;
    both.real = as_modelled(real_.try_command(words));
    both.model = model_.execute(id_, words);
    model_.tell_changes();
    return both;
}

bool twin::agree(const std::vector<std::string>& words) {
    const replies both = execute(words);
    const value real = settled(words, both.real);
    const value model = settled(words, both.model);
    std::string text;
    for (const auto& each : words)
        text += each + " ";
    EXPECT_EQ(shown(real), shown(model)) << text << "(the real server's word comes first)";
    return real == model;
}

void twin::subscribe(const std::string& channel) {
    real_.send({"SUBSCRIBE", channel});
    model_.execute(id_, {"SUBSCRIBE", channel});
}

// PING flushes the pushes: they come before its answer.
bool twin::heard_the_same() {
    real_.command({"PING"});
    std::vector<value> real;
    while (const auto push = real_.next_push(std::chrono::milliseconds(0)))
        real.push_back(as_modelled(*push));
    const auto model = std::exchange(heard_, {});
    std::string real_text;
    std::string model_text;
    for (const auto& each : real)
        real_text += shown(each) + " ";
    for (const auto& each : model)
        model_text += shown(each) + " ";
    EXPECT_EQ(real_text, model_text);
    return real == model;
}

}  // namespace mortise::test
