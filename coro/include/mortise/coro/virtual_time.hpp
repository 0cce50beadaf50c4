// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_VIRTUAL_TIME_HPP
#define MORTISE_CORO_VIRTUAL_TIME_HPP

#include "mortise/coro/time_source.hpp"

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

namespace boost::asio {
class io_context;
}

namespace mortise::coro {

namespace detail {
class timer_queue;
}

/// Time that passes when it is told to: the same coroutines in a test, on a stock `io_context`,
/// without waiting and with the same outcome each time. Waits that are due at one moment complete
/// in the order in which they were started.
///
/// The functions that take a context run its ready handlers until none is left, then jump to the
/// next deadline. They restart a context that has stopped, and throw `std::runtime_error` when
/// `steps_max` handlers did not bring it to rest.
///
/// @par Threads      `now` and `async_wait_until`: any. The rest: the thread that runs the context.
class virtual_time final : public time_source {
public:
    static constexpr std::size_t steps_max = 10'000'000;

    explicit virtual_time(
        executor_type executor, clock::time_point start = clock::time_point(std::chrono::hours(1))
    );
    ~virtual_time() override;

    [[nodiscard]] clock::time_point now() const noexcept override;

    /// Lets time pass and completes what falls due, in order of time. Runs no handler.
    void advance(clock::duration step);
    void advance_to(clock::time_point when);

    /// The earliest moment that somebody waits for.
    [[nodiscard]] std::optional<clock::time_point> next_deadline() const;

    /// Runs until nothing is ready and nobody waits for a moment. Returns the number of handlers
    /// run.
    std::size_t run_until_idle(asio::io_context& context);
    /// Runs for `span` of this time, then stands exactly at its end.
    std::size_t run_for(asio::io_context& context, clock::duration span);
    /// Runs while `wanted()` holds, asked before each handler. Ends also when all is idle.
    std::size_t run_while(asio::io_context& context, const std::function<bool()>& wanted);

private:
    void wait_until(clock::time_point when, detail::completion<void(error_code)> done) override;
    std::size_t
    run(asio::io_context& context, clock::time_point end, const std::function<bool()>& wanted);

    std::atomic<clock::rep> now_;
    std::shared_ptr<detail::timer_queue> queue_;
};

}  // namespace mortise::coro

#endif
