// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/detail/fork_guard.hpp"

#include <pthread.h>

#include <atomic>

namespace mortise::coro::detail {
namespace {

std::atomic<unsigned> fork_count{0};

// Runs in the child before anything else, where only async-signal-safe work is allowed, such as a
// store to a lock-free atomic.
void count_fork() noexcept {
    fork_count.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

fork_guard::fork_guard() noexcept {
    static const bool installed = ::pthread_atfork(nullptr, nullptr, &count_fork) == 0;
    static_cast<void>(installed);
    generation_ = fork_count.load(std::memory_order_relaxed);
}

bool fork_guard::forked() const noexcept {
    return fork_count.load(std::memory_order_relaxed) != generation_;
}

}  // namespace mortise::coro::detail
