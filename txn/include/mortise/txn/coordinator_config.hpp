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

/// Where a coordinator keeps its decisions, whom it can call, and its limits.
class coordinator_config {
public:
    coordinator_config() = default;  // declared: no aggregate (docs/compilers.md, G3)

    /// The log: an SQLite database, made if it is not there.
    std::filesystem::path log;

    /// Refuse to make a new log: for a service whose decisions must not be forgotten because a disk
    /// was not mounted.
    bool must_exist = false;

    /// A file system layer that was registered with SQLite; empty: the default one.
    std::string vfs;

    /// With locks, several coordinators share the log: each partition is decided by the one that
    /// holds its lock (`mortise.txn/ID-NUMBER`), whose token is the epoch, and the others stand by.
    /// They share the partitions evenly. All coordinators of a log use the same store. Null:
    /// whoever opens the log takes it over.
    std::shared_ptr<lock_client> locks;

    /// Partitions of a log that is made: 1 to 256. One that is there keeps its number.
    std::uint32_t partitions = 8;

    /// By the names that branches call them by. After a restart the same names must be there: calls
    /// of others are stuck until they are.
    std::map<std::string, std::shared_ptr<participant>, std::less<>> participants;

    /// Time for all tries of a transaction that names none of its own: 1 ms to one day.
    std::chrono::milliseconds deadline{10'000};

    /// Time for a single call: 1 ms to one hour.
    std::chrono::milliseconds call_max{5'000};

    /// How often a try is sent that gets no clear answer: 1 to 1,000.
    std::uint32_t try_attempts_max = 5;

    /// The pause before a call is repeated: drawn evenly up to a bound, which doubles from the
    /// first to the last of these.
    std::chrono::milliseconds retry_first{50};
    std::chrono::milliseconds retry_max{30'000};

    /// Calls in a row without an answer after which a participant is called once in `retry_max`
    /// only, until it answers again: 1 to 1,000,000.
    std::uint32_t breaker_failures = 10;

    /// Transactions under way in this coordinator: 1 to 10,000,000.
    std::size_t open_max = 100'000;

    /// Stuck transactions that are kept in memory beside those: up to 10,000,000. Others are read
    /// from the log again when an operator does something about them, or somebody waits for them.
    std::size_t stuck_max = 10'000;

    /// Bytes of a branch's payload: up to 64 MiB.
    std::size_t payload_max = 1u << 20;

    /// For how long the log remembers a transaction after its end: at least; it forgets when there
    /// is something to do.
    std::chrono::milliseconds retention{std::chrono::hours(24)};

    /// How long a stop waits until what is under way is decided: 1 ms to one hour. Another process
    /// may have the log locked; what is not decided then is cancelled by whoever comes next.
    std::chrono::milliseconds stop_max{5'000};

    /// Hears of what happens; null: nobody. See there for how long it has to live.
    txn_observer* observer = nullptr;

    /// Where time comes from; null: the real time.
    std::shared_ptr<coro::time_source> time;

    /// Of the pauses; zero: a random one.
    std::uint64_t jitter_seed = 0;

    /// What people see as the name of this coordinator; empty: that of the program.
    std::string label;
};

}  // namespace mortise::txn

#endif
