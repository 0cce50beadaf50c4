// SPDX-License-Identifier: BSL-1.0
#include "unit/txn/scripted_participant.hpp"

#include "mortise/coro/sleep.hpp"
#include "mortise/coro/time_source.hpp"

#include <boost/asio/this_coro.hpp>

#include <chrono>

namespace mortise::test {

asio::awaitable<void> scripted_participant::pause() {
    const auto time = coro::make_boot_time_source(co_await asio::this_coro::executor);
    co_await coro::sleep_for(*time, std::chrono::milliseconds(1));
}

asio::awaitable<result<std::vector<txn::prepared_branch>>>
scripted_participant::list_prepared(std::uint64_t) {
    const auto held = [this] {
        const std::lock_guard guard(mutex_);
        return lists_held_;
    };
    {
        const std::lock_guard guard(mutex_);
        ++looks_;
    }
    while (held()) {
        try {
            auto pausing = pause();
            co_await std::move(pausing);
        } catch (const boost::system::system_error&) {
            const std::lock_guard guard(mutex_);
            ++lists_cancelled_;
            throw;
        }
    }
    const std::lock_guard guard(mutex_);
    co_return prepared_;
}

}  // namespace mortise::test
