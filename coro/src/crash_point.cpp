// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/detail/crash_point.hpp"

#ifdef MORTISE_PLANT_BUGS

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::coro::detail {
namespace {

std::string_view setting(const char* name) noexcept {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : std::string_view();
}

/// The point at which this process must die or stop.
class chosen_point {
public:
    explicit chosen_point(const char* variable) {
        const auto text = setting(variable);
        const auto colon = text.rfind(':');
        if (colon == std::string_view::npos)
            return;
        name_ = text.substr(0, colon);
        left_ = std::atoi(std::string(text.substr(colon + 1)).c_str());
    }

    bool is_now(std::string_view name) noexcept { return name == name_ && --left_ == 0; }

private:
    std::string name_;
    std::atomic<int> left_{0};
};

/// The watcher of this process. It is called without the lock, because it may take long.
class watcher_place {
public:
    void set(point_watcher watcher) {
        auto next = watcher ? std::make_shared<const point_watcher>(std::move(watcher)) : nullptr;
        const std::lock_guard hold(mutex_);
        watcher_.swap(next);
        is_set_ = watcher_ != nullptr;
    }

    void call(const char* name) noexcept {
        if (!is_set_)
            return;
        std::shared_ptr<const point_watcher> watcher;
        {
            const std::lock_guard hold(mutex_);
            watcher = watcher_;
        }
        if (watcher)
            (*watcher)(name);
    }

private:
    std::atomic<bool> is_set_{false};
    std::mutex mutex_;
    std::shared_ptr<const point_watcher> watcher_;
};

watcher_place& the_watcher() {
    static watcher_place& place = *new watcher_place();  // threads may outlast the program's end
    return place;
}

}  // namespace

void watch_crash_points(point_watcher watcher) {
    the_watcher().set(std::move(watcher));
}

void pass_crash_point(const char* name) noexcept {
    the_watcher().call(name);
    static chosen_point death("MORTISE_CRASH_AT");
    static chosen_point stop("MORTISE_STOP_AT");
    if (death.is_now(name))
        ::kill(::getpid(), SIGKILL);
    if (stop.is_now(name))
        ::raise(SIGSTOP);  // `kill` on the process could let this thread run on for a while
}

bool is_planted(const char* name) noexcept {
    static const std::string_view planted = setting("MORTISE_PLANT");
    return planted == name;
}

}  // namespace mortise::coro::detail

#endif
