// SPDX-License-Identifier: BSL-1.0
#include "store/sqlite/turn_job.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>

#include <utility>

namespace mortise::store_detail {

turn_job::turn_job(asio::any_io_executor strand) : strand_(std::move(strand)) {}

void turn_job::deliver() noexcept {
    asio::post(strand_, [done = std::exchange(asked_, {})] {
        for (const auto& each : done)
            each->complete();
    });
}

void turn_job::finish(error_code why) noexcept {
    for (const auto& each : asked_)
        each->operation().fail(why);
    deliver();
}

void turn_job::drop() noexcept {
    const auto gone = std::exchange(asked_, {});
}

asio::execution_context* turn_job::context() noexcept {
    return &asio::query(strand_, asio::execution::context);
}

}  // namespace mortise::store_detail
