// SPDX-License-Identifier: BSL-1.0
#include "store/sqlite/write_batch.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>

namespace mortise::store_detail {

void write_batch::run(std::span<const std::shared_ptr<coro::detail::worker_job>> batch) noexcept {
    for (const auto& job : batch)
        job->run();
    perform();
}

void write_batch::add(lock_operation& operation) noexcept {
    together_.push_back(&operation);
    if (together_.size() == together_max)
        perform();
}

void write_batch::perform() noexcept {
    if (together_.empty())
        return;
    try {
        state_->perform(together_);
    } catch (...) {
        const error_code why = coro::detail::code_of_current_exception();
        for (lock_operation* each : together_)
            each->fail(why);
    }
    together_.clear();
}

void turn_job::run() noexcept {
    for (const auto& each : asked_)
        batch_->add(each->operation());
}

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
