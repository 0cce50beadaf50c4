// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_COORDINATOR_CONFIG_HPP
#define MORTISE_TXN_COORDINATOR_CONFIG_HPP

#include "mortise/txn/participant.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

namespace mortise {
class lock_client;
}
namespace mortise::coro {
class time_source;
}

namespace mortise::txn {

class txn_observer;

/// Where a coordinator keeps its decisions, which participants it calls, and its limits.
class coordinator_config {
public:
    coordinator_config() = default;  // declared: no aggregate (docs/compilers.md, G3)

    /// The log: an SQLite database, created if it is missing.
    std::filesystem::path log;

    /// Refuses to create a log: for a service that must not forget its decisions because a disk was
    /// not mounted.
    bool must_exist = false;

    /// A file system layer that is registered with SQLite; empty: the default one.
    std::string vfs;

    /// Lets several coordinators share the log. The one that holds the lock of a partition
    /// (`mortise.txn/ID-NUMBER`) works on it, with the lock's token as the epoch; the others stand
    /// by. They share the partitions evenly. All coordinators of a log must use the same store.
    /// Null: whoever opens the log takes it over.
    std::shared_ptr<lock_client> locks;

    /// The number of partitions of a new log: 1 to 256. An existing log keeps its number.
    std::uint32_t partitions = 8;

    /// The participants, by the names that branches use. Keep the names across restarts: branches
    /// of a missing participant are stuck until it is there again.
    std::map<std::string, std::shared_ptr<participant>, std::less<>> participants;

    /// Time for all tries of a transaction without a deadline of its own: 1 ms to one day.
    std::chrono::milliseconds deadline{10'000};

    /// Time for a single call: 1 ms to one hour.
    std::chrono::milliseconds call_max{5'000};

    /// How often a try without a clear answer is sent: 1 to 1,000.
    std::uint32_t try_attempts_max = 5;

    /// The pause before a call is repeated: random, evenly distributed between a quarter of
    /// `retry_first` and a bound. The bound doubles from `retry_first` to `retry_max`.
    std::chrono::milliseconds retry_first{50};
    std::chrono::milliseconds retry_max{30'000};

    /// After this many calls in a row without an answer, a participant is called only once in
    /// `retry_max`, until it answers again: 1 to 1,000,000.
    std::uint32_t breaker_failures = 10;

    /// Transactions under way in this coordinator: 1 to 10,000,000.
    std::size_t open_max = 100'000;

    /// Of those, transactions that may wait for the same participant: up to 10,000,000; zero: three
    /// quarters of `open_max`. When so many wait, nothing new is begun with it, so that one
    /// participant that is slow does not take all places.
    std::size_t waiting_max = 0;

    /// Stuck transactions that are kept in memory besides those: up to 10,000,000. The rest is read
    /// from the log again when an operator acts on one, or somebody waits for it.
    std::size_t stuck_max = 10'000;

    /// Bytes of a branch's payload: up to 64 MiB.
    std::size_t payload_max = 1u << 20;

    /// The time between two looks at the branches that are prepared at databases (XA). It begins
    /// with `prepared_look_first` whenever a partition is taken over, and doubles up to
    /// `prepared_look_max`: 1 ms to one day. The looks go on until the coordinator is stopped.
    std::chrono::milliseconds prepared_look_first{1'000};
    std::chrono::milliseconds prepared_look_max{60'000};

    /// A branch that a look finds prepared for longer is reported (`txn_event::kind::
    /// prepared_long`), because it keeps its row locks: 1 ms to one day.
    std::chrono::milliseconds prepared_max{60'000};

    /// How long the log remembers a transaction after its end, at least. Forgetting waits for other
    /// work.
    std::chrono::milliseconds retention{std::chrono::hours(24)};

    /// How long a stop waits for decisions: 1 ms to one hour. Another process may have locked the
    /// log. Whoever opens the log next cancels the transactions that are still undecided.
    std::chrono::milliseconds stop_max{5'000};

    /// Hears of events; null: nobody. See `txn_observer` for its lifetime.
    txn_observer* observer = nullptr;

    /// The source of time; null: the real time.
    std::shared_ptr<coro::time_source> time;

    /// The seed of the random pauses; zero: a random seed.
    std::uint64_t jitter_seed = 0;

    /// The name of this coordinator for people; empty: the name of the program.
    std::string label;
};

}  // namespace mortise::txn

#endif
