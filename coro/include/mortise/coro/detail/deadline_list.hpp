// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_DETAIL_DEADLINE_LIST_HPP
#define MORTISE_CORO_DETAIL_DEADLINE_LIST_HPP

#include "mortise/coro/clock.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace mortise::coro::detail {

/// Tasks with deadlines that share one timer. No clock, no I/O.
///
/// Tasks with equal deadlines run in the order in which they were set.
class deadline_list {
public:
    using task = std::function<void()>;
    using key = std::pair<clock::time_point, std::uint64_t>;

    /// Names a deadline; empty if none is set.
    using handle = std::optional<key>;

    /// Replaces the deadline of `at`, if it has one. `time_point::max()` sets none.
    void set(handle& at, clock::time_point when, task work) {
        clear(at);
        if (when == clock::time_point::max())
            return;
        at = key(when, ++count_);
        tasks_.emplace(*at, std::move(work));
    }

    void clear(handle& at) {
        if (at)
            tasks_.erase(*at);
        at.reset();
    }

    void clear() { tasks_.clear(); }

    clock::time_point next() const noexcept {
        return tasks_.empty() ? clock::time_point::max() : tasks_.begin()->first.first;
    }

    /// Takes out the first task that is due.
    task take_due(clock::time_point now) {
        if (tasks_.empty() || tasks_.begin()->first.first > now)
            return {};
        task due = std::move(tasks_.begin()->second);
        tasks_.erase(tasks_.begin());
        return due;
    }

private:
    std::map<key, task> tasks_;
    std::uint64_t count_ = 0;
};

}  // namespace mortise::coro::detail

#endif
