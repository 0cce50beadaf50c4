// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_STORE_HARNESS_HPP
#define MORTISE_TESTS_CONFORMANCE_STORE_HARNESS_HPP

#include "mortise/coro/time_source.hpp"
#include "mortise/sim/network.hpp"
#include "mortise/store.hpp"
#include "support/machine_delay.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

namespace mortise::test {

/// A store as the conformance suite needs it: how to make one, how its time passes, what faults it
/// can be told to have. All clients of one harness meet at one store.
class store_harness {
public:
    virtual ~store_harness() = default;

    virtual std::unique_ptr<store> make_store() = 0;

    /// Where the clients run.
    virtual asio::any_io_executor executor() = 0;

    /// The clock of the clients.
    virtual std::shared_ptr<coro::time_source> time() = 0;

    /// A TTL that is short for this store's kind of time, and long enough not to run out by chance.
    virtual std::chrono::milliseconds ttl() const = 0;

    /// Runs handlers until `done()`, which is asked before each of them, and now and then while
    /// there is none; false if it does not come true within `limit` of the clients' time.
    virtual bool run_until(const std::function<bool()>& done, clock::duration limit) = 0;

    /// Runs handlers for so long.
    void pass(clock::duration span);

    /// Runs the task to its end and gives its exception; fails the test if it takes too long.
    void run(asio::awaitable<void> task);

    /// Whether no time passes but what the test lets pass.
    virtual bool simulates_time() const { return false; }
    /// Whether its store is a server in real time: sweeps of all steps are for `./run proof`.
    virtual bool asks_a_server() const { return false; }
    /// By how much more than promised something may be late: what the machine was, in real time.
    machine_delay::milliseconds lateness(const machine_delay& since) const {
        return simulates_time() ? machine_delay::milliseconds(0) : since.so_far();
    }

    /// Whether a call of the store does all of its work inside of the call, and suspends nobody.
    virtual bool answers_at_once() const { return false; }

    /// What lies at the store for sessions: none after all of them have ended.
    virtual std::size_t residue() = 0;

    // Faults. Each says whether this store can be told to have it.
    virtual bool lose_replies(std::size_t) { return false; }
    virtual bool lose_pushes(std::size_t) { return false; }
    virtual bool restart(bool /*with_memory*/) { return false; }

    /// The message that passes after `nth` others from now on, between clients or between one and
    /// the store, has that fate. `as_usual`: none has another.
    virtual bool spoil(std::size_t /*nth*/, sim::fate) { return false; }
    /// Whether there was one since.
    virtual bool spoiled() const { return false; }
    /// For how long something may still come of a spoiled message after the end of an operation.
    virtual clock::duration aftermath() const { return ttl() / 2; }
    /// Whether messages are hints, without which all is done in the end as it is with them.
    virtual bool messages_are_hints() const { return false; }
};

using harness_factory = std::unique_ptr<store_harness> (*)();

template <class Harness>
std::unique_ptr<store_harness> make_harness() {
    return std::make_unique<Harness>();
}

}  // namespace mortise::test

#endif
