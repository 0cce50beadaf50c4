// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_MACHINE_PULSE_HPP
#define MORTISE_TESTS_SUPPORT_MACHINE_PULSE_HPP

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace mortise::test {

/// The longest time for which a thread of this process had to wait after the moment at which it
/// wanted to run. Other processes of the machine may have waited as long.
///
/// @par Threads Any.
class machine_pulse {
public:
    using clock = std::chrono::steady_clock;
    using duration = clock::duration;

    /// The signals of the process are for its other threads.
    machine_pulse() {
        sigset_t all;
        sigset_t before;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, &before);
        thread_ = std::thread([this] { beat(); });
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
    ~machine_pulse() {
        {
            const std::lock_guard guard(mutex_);
            ended_ = true;
        }
        end_.notify_one();
        thread_.join();
    }
    machine_pulse(const machine_pulse&) = delete;
    machine_pulse& operator=(const machine_pulse&) = delete;

    /// From now on.
    void restart() {
        const std::lock_guard guard(mutex_);
        longest_ = {};
        begun_ = clock::now();
    }
    /// The wait that has not ended counts as well.
    duration longest() const {
        const std::lock_guard guard(mutex_);
        return std::max(longest_, waited());
    }

private:
    duration waited() const { return clock::now() - std::max(due_, begun_); }

    void beat() {
        constexpr std::chrono::milliseconds interval(10);
        std::unique_lock lock(mutex_);
        while (!ended_) {
            due_ = clock::now() + interval;
            end_.wait_until(lock, due_);
            longest_ = std::max(longest_, waited());
        }
    }

    mutable std::mutex mutex_;
    std::condition_variable end_;
    bool ended_ = false;
    duration longest_{};
    clock::time_point begun_ = clock::now();
    clock::time_point due_ = begun_;
    std::thread thread_;
};

}  // namespace mortise::test

#endif
