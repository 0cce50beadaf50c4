// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_SESSION_STATE_HPP
#define MORTISE_DB_SESSION_STATE_HPP

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace mortise::db::detail {

/// The state and the counters that the threads of a session share.
class session_state {
public:
    std::atomic<bool> poisoned{false};

    std::atomic<std::uint64_t> transactions{0};
    std::atomic<std::uint64_t> forced{0};
    std::atomic<std::uint64_t> rolled_back{0};
    std::atomic<std::uint64_t> batches{0};
    std::atomic<std::uint64_t> batches_forced{0};
    std::atomic<std::size_t> batch_largest{0};
    std::atomic<std::uint64_t> reads{0};
    std::atomic<std::uint64_t> checkpoints{0};
    std::atomic<std::uint64_t> conflicts{0};
    std::atomic<std::size_t> log_bytes{0};

    void stop() noexcept {
        {
            std::lock_guard hold(mutex_);
            stopping_ = true;
        }
        stopped_.notify_all();
    }
    /// @return whether the session stops, at once or within that time.
    bool wait_stop(std::chrono::microseconds span) noexcept {
        std::unique_lock hold(mutex_);
        return stopped_.wait_for(hold, span, [this] { return stopping_; });
    }

private:
    std::mutex mutex_;
    std::condition_variable stopped_;
    bool stopping_ = false;
};

}  // namespace mortise::db::detail

#endif
