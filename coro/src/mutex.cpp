// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/mutex.hpp"

#include "mortise/coro/detail/wait_list.hpp"

namespace mortise::coro {

namespace detail {

class mutex_state : public std::enable_shared_from_this<mutex_state> {
public:
    using completion_type = completion<void(error_code, mutex_guard)>;

    void lock(completion_type done) {
        switch (waiting_.wait_unless(done, [this] { return take(); })) {
        case wait_outcome::waits:
            return;
        case wait_outcome::ready:
            return done.complete(error_code(), mutex_guard(shared_from_this()));
        case wait_outcome::closed:
            return waiting_.abort(std::move(done));
        }
    }

    std::optional<mutex_guard> try_lock() {
        std::lock_guard hold(waiting_.mutex());
        if (!take())
            return std::nullopt;
        return mutex_guard(shared_from_this());
    }

    void unlock() noexcept {
        {
            // A guard for a coroutine whose executor is gone is destroyed at once, inside
            // complete(), and unlocks. A long queue of such waiters must not become a deep stack.
            std::lock_guard hold(waiting_.mutex());
            if (handing_over_) {
                came_back_ = true;
                return;
            }
            handing_over_ = true;
        }
        do {  // ends: each turn takes out a waiter, or finds none and leaves the mutex free
            if (auto next = waiting_.take_one([this] { locked_ = false; }))
                next.complete(error_code(), mutex_guard(shared_from_this()));
        } while (came_back());
    }

    void close() noexcept { waiting_.close(); }

private:
    bool take() noexcept { return !std::exchange(locked_, true); }

    bool came_back() noexcept {
        std::lock_guard hold(waiting_.mutex());
        handing_over_ = std::exchange(came_back_, false);
        return handing_over_;
    }

    wait_list<mutex_guard> waiting_;
    // Under the list's mutex:
    bool locked_ = false;
    bool handing_over_ = false;
    bool came_back_ = false;
};

}  // namespace detail

void mutex_guard::unlock() noexcept {
    if (const auto state = std::move(state_))
        state->unlock();
}

mutex::mutex(executor_type executor)
    : executor_(std::move(executor)), state_(std::make_shared<detail::mutex_state>()) {}

mutex::~mutex() {
    close();
}

std::optional<mutex_guard> mutex::try_lock() {
    return state_->try_lock();
}

void mutex::close() noexcept {
    const auto state = state_;  // *this may be gone as soon as a waiter on another thread runs
    state->close();
}

void mutex::start_lock(
    detail::completion<void(error_code, mutex_guard)> done,
    std::shared_ptr<detail::mutex_state> state
) {
    state->lock(std::move(done));
}

}  // namespace mortise::coro
