// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/virtual_time.hpp"

#include "mortise/coro/assert.hpp"
#include "timer_queue.hpp"

#include <boost/asio/io_context.hpp>

#include <stdexcept>

namespace mortise::coro {

virtual_time::virtual_time(executor_type executor, clock::time_point start)
    : time_source(std::move(executor)),
      now_(start.time_since_epoch().count()),
      queue_(std::make_shared<detail::timer_queue>()) {}

virtual_time::~virtual_time() {
    queue_->close();
}

clock::time_point virtual_time::now() const noexcept {
    return clock::time_point(clock::duration(now_.load()));
}

void virtual_time::advance(clock::duration step) {
    advance_to(saturating_add(now(), step));
}

void virtual_time::advance_to(clock::time_point when) {
    MORTISE_ASSERT(when >= now());
    now_ = when.time_since_epoch().count();
    queue_->complete_due(when);
}

std::optional<clock::time_point> virtual_time::next_deadline() const {
    const auto next = queue_->next();
    return next == clock::time_point::max() ? std::nullopt : next;
}

std::size_t virtual_time::run_until_idle(asio::io_context& context) {
    return run(context, clock::time_point::max(), [] { return true; });
}

std::size_t virtual_time::run_for(asio::io_context& context, clock::duration span) {
    const auto end = saturating_add(now(), span);
    const auto count = run(context, end, [] { return true; });
    advance_to(end);
    return count;
}

std::size_t
virtual_time::run_while(asio::io_context& context, const std::function<bool()>& wanted) {
    return run(context, clock::time_point::max(), wanted);
}

std::size_t virtual_time::run(
    asio::io_context& context, clock::time_point end, const std::function<bool()>& wanted
) {
    for (std::size_t count = 0; count < steps_max;) {
        if (!wanted())
            return count;
        if (context.stopped())
            context.restart();
        if (context.poll_one() > 0) {
            ++count;
            continue;
        }
        const auto next = next_deadline();
        if (!next || *next > end)
            return count;
        advance_to(*next);
    }
    throw std::runtime_error("virtual_time: the context does not come to rest");
}

void virtual_time::wait_until(clock::time_point when, detail::completion<void(error_code)> done) {
    if (when <= now())
        done.complete(error_code());
    else
        queue_->add(when, std::move(done));
}

}  // namespace mortise::coro
