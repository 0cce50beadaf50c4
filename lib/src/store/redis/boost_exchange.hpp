// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_BOOST_EXCHANGE_HPP
#define MORTISE_STORE_REDIS_BOOST_EXCHANGE_HPP

#include "store/redis/redis_replies.hpp"
#include "store/redis/redis_wire.hpp"

#include <boost/redis/request.hpp>
#include <boost/redis/resp3/node.hpp>
#include <boost/system/error_code.hpp>

#include <cstddef>
#include <functional>
#include <list>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::store_detail {

namespace redis = boost::redis;
using resp_node = redis::resp3::basic_node<std::string_view>;

/// Collects the replies to one request. The overloads of `boost_redis_adapt` below give it to
/// Boost.Redis.
class reply_slot {
public:
    void add(const resp_node& node) {
        if (auto done = builder_.add(node))
            values_.push_back(std::move(*done));
    }
    /// One value for each command that was sent, once all are answered.
    std::vector<redis_value>& values() noexcept { return values_; }

private:
    reply_builder builder_;
    std::vector<redis_value> values_;
};

/// Hands over each push when it is complete.
class push_slot {
public:
    std::function<void(redis_value)> take;

    void add(const resp_node& node) {
        if (auto done = builder_.add(node))
            take(std::move(*done));
    }

private:
    reply_builder builder_;
};

template <class Slot>
struct slot_adapter {
    Slot* slot;

    std::size_t get_supported_response_size() const noexcept {
        return static_cast<std::size_t>(-1);
    }
    void operator()(std::size_t, const resp_node& node, boost::system::error_code&) {
        slot->add(node);
    }
};

inline slot_adapter<reply_slot> boost_redis_adapt(reply_slot& slot) {
    return {&slot};
}
inline slot_adapter<push_slot> boost_redis_adapt(push_slot& slot) {
    return {&slot};
}

/// Commands under way, sent together, and their replies. Boost.Redis refers to it until the replies
/// are complete.
class boost_exchange {
public:
    boost_exchange() {
        constexpr std::size_t usual_size = 192;
        request_.get_config().cancel_if_not_connected = true;
        request_.reserve(usual_size);
    }

    void put(const redis_command& command) {
        if (command.size() == 1)
            request_.push(command.front());
        else
            request_.push_range(command.front(), command.begin() + 1, command.end());
    }

    const redis::request& request() const noexcept { return request_; }
    reply_slot& replies() noexcept { return replies_; }

private:
    redis::request request_;
    reply_slot replies_;
};

/// Keeps an exchange in the list of its wire until it is answered. A coroutine that is destroyed
/// earlier, because its context ends, leaves the exchange in the list: the connection may still be
/// told to look at it.
class passage {
public:
    explicit passage(std::list<boost_exchange>& among)
        : among_(among), mine_(among.emplace(among.end())) {}
    ~passage() {
        if (!under_way_)
            among_.erase(mine_);
    }
    passage(const passage&) = delete;
    passage& operator=(const passage&) = delete;

    boost_exchange& mine() noexcept { return *mine_; }
    void sent() noexcept { under_way_ = true; }
    void answered() noexcept { under_way_ = false; }

private:
    std::list<boost_exchange>& among_;
    const std::list<boost_exchange>::iterator mine_;
    bool under_way_ = false;
};

}  // namespace mortise::store_detail

#endif
