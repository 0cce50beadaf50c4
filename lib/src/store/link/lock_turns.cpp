// SPDX-License-Identifier: BSL-1.0
#include "store/link/lock_turns.hpp"

#include "mortise/coro/detail/with_code.hpp"

#include <tuple>
#include <utility>

namespace mortise::store_detail {

lock_turn::lock_turn(
    std::shared_ptr<lock_turns> all,
    std::string name,
    std::shared_ptr<coro::mutex> mutex,
    coro::mutex_guard guard
)
    : all_(std::move(all)),
      name_(std::move(name)),
      mutex_(std::move(mutex)),
      guard_(std::move(guard)) {}

// The last one forgets the lock: this object and the table are the only ones that know its mutex.
lock_turn::~lock_turn() {
    if (mutex_ && mutex_.use_count() == 2)
        all_->under_way_.erase(name_);
}

asio::awaitable<lock_turn> lock_turns::take(asio::any_io_executor strand, std::string name) {
    const auto self = shared_from_this();
    auto& known = under_way_[name];
    if (!known)
        known = std::make_shared<coro::mutex>(std::move(strand));
    const auto mutex = known;
    if (auto free = mutex->try_lock())
        co_return lock_turn(self, std::move(name), mutex, std::move(*free));
    auto locking = mutex->async_lock(coro::detail::with_code);
    auto locked = co_await std::move(locking);
    co_return lock_turn(self, std::move(name), mutex, std::move(std::get<1>(locked)));
}

}  // namespace mortise::store_detail
