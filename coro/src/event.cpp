// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/event.hpp"

#include "mortise/coro/detail/wait_list.hpp"

namespace mortise::coro {

namespace detail {

class event_state {
public:
    void wait(completion<void(error_code)> done) {
        switch (waiting_.wait_unless(done, [this] { return set_; })) {
        case wait_outcome::waits:
            return;
        case wait_outcome::ready:
            return done.complete(error_code());
        case wait_outcome::closed:
            return waiting_.abort(std::move(done));
        }
    }

    void set() {
        waiting_.complete_all_after([this] { set_ = true; }, error_code());
    }

    void reset() noexcept {
        std::lock_guard hold(waiting_.mutex());
        set_ = false;
    }

    bool is_set() const noexcept {
        std::lock_guard hold(waiting_.mutex());
        return set_;
    }

    void close() noexcept { waiting_.close(); }

private:
    wait_list<> waiting_;
    bool set_ = false;  // under the list's mutex
};

}  // namespace detail

event::event(executor_type executor)
    : executor_(std::move(executor)), state_(std::make_shared<detail::event_state>()) {}

event::~event() {
    close();
}

void event::set() {
    const auto state = state_;  // *this may be gone as soon as a waiter on another thread runs
    state->set();
}

void event::reset() noexcept {
    state_->reset();
}

bool event::is_set() const noexcept {
    return state_->is_set();
}

void event::close() noexcept {
    const auto state = state_;
    state->close();
}

void event::start_wait(
    detail::completion<void(error_code)> done, std::shared_ptr<detail::event_state> state
) {
    state->wait(std::move(done));
}

}  // namespace mortise::coro
