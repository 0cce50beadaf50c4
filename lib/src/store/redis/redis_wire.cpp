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

asio::awaitable<result<std::vector<redis_value>>> redis_wire::write_and_wait(
    redis_command write, unsigned replicas, std::chrono::milliseconds limit
) {
    std::vector<redis_command> both;
    both.push_back(std::move(write));
    both.push_back(wait_for_replicas(replicas, limit));
    return pipeline(std::move(both));
}

redis_command wait_for_replicas(unsigned replicas, std::chrono::milliseconds limit) {
    return {"WAIT", std::to_string(replicas), std::to_string(limit.count())};
}

}  // namespace mortise::store_detail
