// SPDX-License-Identifier: BSL-1.0
#include "store/redis/redis_wire.hpp"

#include <utility>

namespace mortise::store_detail {

asio::awaitable<result<std::vector<redis_value>>>
redis_wire::pipeline(std::vector<redis_command> commands) {
    std::vector<redis_value> replies;
    for (auto& each : commands) {
        auto calling = call(std::move(each));
        auto reply = co_await std::move(calling);
        if (!reply)
            co_return reply.error();
        replies.push_back(std::move(*reply));
    }
    co_return replies;
}

}  // namespace mortise::store_detail
