// SPDX-License-Identifier: BSL-1.0
#include "db/turn_queue.hpp"

#include <mutex>

namespace mortise::db::detail {

using coro::detail::wait_outcome;

turn::~turn() {
    if (const auto row = std::move(row_))
        row->give_back();
}

void turn_queue::take(completion done) {
    const auto outcome = waiting_.wait_unless(done, [this] { return free_ > 0 && free_-- > 0; });
    if (outcome == wait_outcome::ready)
        done.complete(error_code(), turn(shared_from_this()));
    else if (outcome == wait_outcome::closed)
        waiting_.abort(std::move(done));
}

// A turn for a coroutine whose context ends is destroyed inside `complete` and comes back here. A
// long queue of such waiters must not become a deep stack.
void turn_queue::give_back() noexcept {
    {
        std::lock_guard hold(waiting_.mutex());
        ++came_back_;
        if (std::exchange(handing_over_, true))
            return;
    }
    while (came_back()) {
        if (auto next = waiting_.take_one([this] { ++free_; }))
            next.complete(error_code(), turn(shared_from_this()));
    }
    if (taken() == 0)
        until_empty_.complete_all(error_code());
}

// Whether there is a turn to hand over; ends the handing over if there is none.
bool turn_queue::came_back() noexcept {
    std::lock_guard hold(waiting_.mutex());
    handing_over_ = came_back_ > 0;
    if (handing_over_)
        --came_back_;
    return handing_over_;
}

std::size_t turn_queue::taken() const noexcept {
    std::lock_guard hold(waiting_.mutex());
    return all_ - free_;
}

void turn_queue::wait_empty(coro::detail::completion<void(error_code)> done) {
    const auto outcome = until_empty_.wait_unless(done, [this] { return taken() == 0; });
    if (outcome == wait_outcome::ready)
        done.complete(error_code());
    else if (outcome == wait_outcome::closed)
        until_empty_.abort(std::move(done));
}

}  // namespace mortise::db::detail
