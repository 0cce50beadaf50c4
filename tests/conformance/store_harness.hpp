// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_STORE_HARNESS_HPP
#define MORTISE_TESTS_CONFORMANCE_STORE_HARNESS_HPP

#include "mortise/coro/time_source.hpp"
#include "mortise/error.hpp"
#include "mortise/sim/network.hpp"
#include "mortise/store.hpp"
#include "support/machine_delay.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mortise::test {

/// The abilities of a store and of its harness: a suite that needs others is not instantiated.
/// Each harness has a static function `abilities()` that says them before a harness is made.
struct store_abilities {
    store_traits traits;
    // The faults that the harness can bring about.
    bool loses_replies = false;
    bool loses_pushes = false;
    bool restarts = false;
    bool spoils = false;
    bool silences = false;
    /// A session that is let go of without a farewell is seen dead at once by another one.
    bool sees_death = false;
    /// Time passes only as far as the test lets it pass, so that a day costs next to nothing.
    bool simulates_time = false;
    /// Clients may live in contexts, and on threads, of the test's own, in real time.
    bool lives_anywhere = false;
    /// Another harness has the same store in simulated time. There `./run test` sweeps all
    /// operations, here only some; `./run proof` sweeps all at both.
    bool simulated_elsewhere = false;
};

/// A store as the conformance suite needs it: how to make one, how its time passes, what faults it
/// can have. All clients of one harness meet at one store.
class store_harness {
public:
    virtual ~store_harness() = default;

    virtual std::unique_ptr<store> make_store() = 0;

    /// Names of locks, one at each server of the store.
    virtual std::vector<std::string> names_at_servers() const { return {"presence"}; }
    /// More locks than the store reads in one portion.
    virtual std::size_t several_portions() const { return 1'300; }
    /// How many names the longest tests use.
    virtual std::size_t many_names() const { return 50'000; }

    /// Says, before stores are made, that a client may have so long a TTL: for stores that must be
    /// told, since others would else rely on the harness's TTL.
    virtual void expect_ttl(std::chrono::milliseconds /*longest*/) {}

    /// The executor of the clients.
    virtual asio::any_io_executor executor() = 0;

    /// The clock of the clients.
    virtual std::shared_ptr<coro::time_source> time() = 0;

    /// A TTL that is short for this store's kind of time, and long enough not to run out by chance.
    virtual std::chrono::milliseconds ttl() const = 0;
    /// How long a session without heartbeats may be there.
    virtual std::chrono::milliseconds lifetime() const { return ttl(); }
    /// A TTL for sweeps that wait for the end of many sessions, and allow for one that ends early.
    virtual std::chrono::milliseconds short_ttl() const { return ttl(); }

    /// Runs handlers until `done()`, which is asked before each of them, and now and then while
    /// there is none; false if it does not come true within `limit` of the clients' time.
    virtual bool run_until(const std::function<bool()>& done, clock::duration limit) = 0;

    /// Runs handlers for `span` of the clients' time.
    void pass(clock::duration span);

    /// Runs the task to its end and throws its exception; fails the test if it takes too long.
    void run(asio::awaitable<void> task);

    /// Whether time passes only as far as the test lets it pass.
    virtual bool simulates_time() const { return false; }
    /// Whether a step costs next to nothing: `./run test` then sweeps all steps. Others wait for
    /// `./run proof`.
    virtual bool steps_are_cheap() const { return false; }
    /// How many times as dear as elsewhere a step is: sweeps take so many times longer strides.
    virtual std::size_t cost_of_a_step() const { return 1; }
    /// How much later than promised something may be: the delay of the machine, in real time.
    machine_delay::milliseconds lateness(const machine_delay& since) const {
        return simulates_time() ? machine_delay::milliseconds(0) : since.so_far();
    }

    /// The longest time between two chances for handlers to run, some 20 ms if all is well: the
    /// test looked at the store meanwhile, or the machine stopped this process.
    virtual machine_delay::milliseconds longest_pause() const { return {}; }

    /// Whether a slow machine may be the reason of the code: it has stopped the server, or this
    /// process for a TTL.
    bool is_by_delay(error_code code) const;

    /// Whether a call of the store does all of its work within the call, and suspends nobody.
    virtual bool answers_at_once() const { return false; }

    /// How much lies at the store for sessions: nothing after all of them have ended.
    virtual std::size_t residue() = 0;
    /// Waits until the store keeps so much. Clients get on meanwhile.
    bool residue_becomes(std::size_t count, clock::duration limit);
    /// What `residue` counts, for people.
    virtual std::string left() { return {}; }

    // Faults, by the abilities of the harness: without the ability a call fails the test.
    /// Loses the next `count` replies of the store.
    virtual void lose_replies(std::size_t count);
    /// Loses the next `count` pushes. Call it with zero before stores are made that will lose some.
    virtual void lose_pushes(std::size_t count);
    virtual void restart(bool with_memory);

    /// Lets nothing arrive any more between clients and store, in both ways, while nobody is told;
    /// or everything again. Call it with false before stores are made that will fall silent.
    virtual void silence(bool silent);

    /// Gives that fate to the message that passes after `nth` others from now on, between clients
    /// or between one and the store. `as_usual`: spoils none; call it so before stores are made.
    virtual void spoil(std::size_t nth, sim::fate how);
    /// Whether a message was spoiled since then.
    virtual bool spoiled() const { return false; }
    /// How long a spoiled message may still have consequences after the end of an operation.
    virtual clock::duration aftermath() const { return ttl() / 2; }
    /// Whether messages are hints, without which everything ends as it does with them.
    virtual bool messages_are_hints() const { return false; }
    /// Whether a session may be told something else than what has changed, to look, say, or that
    /// others wait in a second event after the first.
    virtual bool pushes_are_hints() const { return messages_are_hints(); }
    /// Whether pushes in quick succession may each be told as `look_again` instead.
    virtual bool pushes_merge() const { return false; }
    /// Whether the end of a session frees all that it held in one step.
    virtual bool ends_at_once() const { return true; }
    /// Where lists do not show who waits: whether somebody has wanted the lock that is held.
    virtual bool wanted(const std::string& name);
    /// Whether a grant gets more tokens while somebody waits for its lock.
    virtual bool draws_when_contended() const { return true; }
    /// Whether a client ends its session itself when nothing has proved it for a TTL: its leases
    /// are lost then, unsure for a moment only.
    virtual bool gives_sessions_up() const { return false; }
    /// How many sessions a client opens until it holds a lock: one for each proof that it needs.
    virtual unsigned sessions_of_a_holder() const { return 1; }
};

using harness_factory = std::unique_ptr<store_harness> (*)();

template <class Harness>
std::unique_ptr<store_harness> make_harness() {
    return std::make_unique<Harness>();
}

}  // namespace mortise::test

#endif
