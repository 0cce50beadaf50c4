// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_CANCEL_SWEEP_HPP
#define MORTISE_TESTS_SUPPORT_CANCEL_SWEEP_HPP

#include "support/co_world.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/this_coro.hpp>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>

namespace mortise::test {

/// The operation that a sweep cancels. One object for each step, in a world of its own.
class sweep_case {
public:
    virtual ~sweep_case() = default;
    /// The operation under test, on the world's executor.
    virtual asio::awaitable<void> operation() = 0;
    /// Called when all has come to rest: checks that nothing is held and nothing is pending.
    virtual void check(const co_world::outcome& outcome) = 0;
};

inline asio::awaitable<void> accept_every_type(sweep_case& subject) {
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    co_await subject.operation();
}

/// Runs an operation again and again, and cancels it before the n-th handler, n = 0, 1, 2, ...,
/// until a run ends untouched. A moment at which nothing is ready, and time would jump to the next
/// deadline, counts as a handler. Returns the number of runs that were cancelled.
///
/// `function` is the name of the swept operation; a rule of tests/tidy checks that no public one is
/// missing. `make(World&)` returns a `std::unique_ptr` to a sweep_case; a world has a `context`,
/// runs handlers in `step_while` and rests after `settle`.
template <class World = co_world, class Make>
std::size_t cancel_sweep(const std::string& function, asio::cancellation_type type, Make make) {
    constexpr std::size_t steps_max = 100'000;
    for (std::size_t step = 0; step < steps_max; ++step) {
        World world;
        const auto subject = make(world);
        asio::cancellation_signal signal;
        const auto outcome = std::make_shared<co_world::outcome>();
        asio::co_spawn(
            world.context,
            accept_every_type(*subject),
            asio::bind_cancellation_slot(signal.slot(), co_world::record(outcome))
        );
        std::size_t handlers = 0;
        world.step_while([&] { return !outcome->ended && handlers++ < step; });
        const bool untouched = outcome->ended;
        if (!untouched)
            signal.emit(type);
        world.settle();
        if (!outcome->ended)
            throw std::logic_error("a cancelled " + function + " does not end");
        subject->check(*outcome);
        if (untouched)
            return step;
    }
    throw std::logic_error("no run of " + function + " ends by itself");
}

}  // namespace mortise::test

#endif
