// SPDX-License-Identifier: BSL-1.0
// What happens to a service whose process is paused while it holds a lock? A simulated world shows
// it at once, and the same way each time. The coroutines of the service run in it unchanged.
//
// Prints:
//     a service that never looks back: settled twice in 20 of 20 worlds
//     a service that looks at its lease: settled twice in 0 of 20 worlds

#include "mortise/coro/sleep.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/sim/lock_server.hpp"
#include "mortise/sim/world.hpp"
#include "mortise/store.hpp"

#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <utility>

namespace asio = boost::asio;
namespace sim = mortise::sim;
using namespace std::chrono_literals;

namespace {

enum class manner { never_looks_back, looks_at_its_lease };

/// What the service writes to. Counts how often the accounts of a day were settled.
struct ledger {
    int settled = 0;
};

/// The service itself. It takes the clock as a parameter, as all code does that runs in a
/// simulation.
asio::awaitable<void>
settle(mortise::lock_client& locks, mortise::coro::time_source& time, ledger& books, manner how) {
    mortise::lease held = co_await locks.async_acquire("settlement");
    if (books.settled == 0) {
        co_await mortise::coro::sleep_for(time, 300ms);  // the work; the process is paused here
        if (how == manner::never_looks_back || !held.check())
            ++books.settled;
    }
}

//[sim_world
/// Two processes of the service reach their lock server over a network. One is paused in the
/// middle of its work, for longer than its lease lives.
int settled_in_world(std::uint64_t seed, manner how) {
    sim::world world(seed);
    sim::lock_server server(world, "locks");
    ledger books;
    const auto service = [&](sim::process& self) -> asio::awaitable<void> {
        mortise::client_config config;
        config.ttl = 3s;
        config.time = self.time();
        mortise::lock_client locks(self.get_executor(), server.make_store(self), config);
        co_await settle(locks, *self.time(), books, how);
        co_await locks.async_stop();
    };
    sim::process& first = world.add_process("first");
    first.run(service);
    world.run_for(100ms);
    sim::process& second = world.add_process("second");
    second.run(service);
    first.pause();
    world.run_for(10s);
    first.resume();
    world.run_for(10s);
    world.end();  // while the objects that the processes use exist
    return books.settled;
}
//]

int worlds_that_settled_twice(manner how) {
    int count = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
        count += settled_in_world(seed, how) > 1 ? 1 : 0;
    return count;
}

void tell(const char* who, manner how) {
    std::cout << "a service that " << who << ": settled twice in " << worlds_that_settled_twice(how)
              << " of 20 worlds\n";
}

}  // namespace

int main() {
    tell("never looks back", manner::never_looks_back);
    tell("looks at its lease", manner::looks_at_its_lease);
}
