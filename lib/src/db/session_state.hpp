// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_SESSION_STATE_HPP
#define MORTISE_DB_SESSION_STATE_HPP

#include "mortise/coro/clock.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

struct sqlite3;

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

/// The wait of a connection for another one that holds the database: for a bounded time, and not
/// beyond the end of its session.
class busy_wait {
public:
    busy_wait(session_state& state, std::chrono::milliseconds max) noexcept
        : state_(state), max_(max) {}

    /// Becomes the connection's busy handler. It must outlive the connection.
    void install(sqlite3* db) noexcept;
    void set_max(std::chrono::milliseconds max) noexcept { max_ = max; }

    /// Blocks for a moment that grows with the number of earlier tries, which is 0 at first.
    /// @return false if the time is over or the session ends: give up.
    bool once_more(int tries) noexcept;

private:
    static int on_busy(void* self, int tries) noexcept;

    session_state& state_;
    clock::duration max_;
    clock::time_point begin_{};
};

}  // namespace mortise::db::detail

#endif
