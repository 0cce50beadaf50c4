// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/detail/busy_poll.hpp"

#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/worker_host.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>

#include <algorithm>
#include <thread>
#include <utility>

namespace mortise::coro::detail {

bool poll_judge::admits() noexcept {
    if (resting_ == 0)
        return true;
    --resting_;
    return false;
}

void poll_judge::earned() noexcept {
    credit_ = std::min(credit_ + 1, credit_max);
    if (credit_ == credit_max)
        rest_ = rest_min;
}

void poll_judge::wasted() noexcept {
    credit_ -= price;
    if (credit_ >= 0)
        return;
    credit_ = 0;
    resting_ = rest_;
    rest_ = std::min(rest_ * 2, rest_max);
}

namespace {

// There a handler more is another run of the world, and time stands still while one is ready.
bool is_simulated(const asio::any_io_executor& executor) noexcept {
    return worker_host::find(asio::query(executor, asio::execution::context)) != nullptr;
}

}  // namespace

void poll_judge::rest() noexcept {
    resting_ = std::max(resting_, rest_min);
}

// Reads the clock of the machine, not that of a simulation: nothing but the use of the processor
// depends on it.
class busy_poll::loop final : public std::enable_shared_from_this<loop> {
public:
    loop(asio::any_io_executor executor, std::chrono::microseconds most)
        : executor_(std::move(executor)), most_(most) {}

    void begin() noexcept {
        if (polls_ || !judge_.admits())
            return;
        began_ = clock::now();
        thread_ = std::this_thread::get_id();
        polls_ = true;
        post();
    }

    void end() noexcept {
        if (std::exchange(polls_, false))
            is_over() ? judge_.wasted() : judge_.earned();
    }

    void rest() noexcept {
        polls_ = false;
        judge_.rest();
    }

    void stop() noexcept { polls_ = false; }

private:
    void post() noexcept {
        if (posted_)
            return;  // of an answer before
        try {
            asio::post(executor_, [self = shared_from_this()] { self->step(); });
            posted_ = true;
        } catch (...) {  // Without memory the loop sleeps as any other does.
            polls_ = false;
        }
    }

    // Where several threads run the loop, each step would wake another one of them.
    bool is_over() const noexcept {
        return clock::now() - began_ > most_ || std::this_thread::get_id() != thread_;
    }

    void step() noexcept {
        posted_ = false;
        if (!polls_)
            return;
        if (!is_over())
            return post();
        polls_ = false;
        judge_.wasted();
    }

    const asio::any_io_executor executor_;
    const clock::duration most_;
    poll_judge judge_;
    clock::time_point began_;
    std::thread::id thread_;
    bool polls_ = false;
    bool posted_ = false;
};

busy_poll::busy_poll(const asio::any_io_executor& executor, std::chrono::microseconds most)
    : loop_(
          most.count() > 0 && !is_simulated(executor) ? std::make_shared<loop>(executor, most)
                                                      : nullptr
      ) {}

busy_poll::~busy_poll() {
    if (loop_)
        loop_->stop();
}

void busy_poll::begin() noexcept {
    if (loop_)
        loop_->begin();
}

void busy_poll::end() noexcept {
    if (loop_)
        loop_->end();
}

void busy_poll::rest() noexcept {
    if (loop_)
        loop_->rest();
}

}  // namespace mortise::coro::detail
