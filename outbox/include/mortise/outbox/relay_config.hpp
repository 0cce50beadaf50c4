// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_RELAY_CONFIG_HPP
#define MORTISE_OUTBOX_RELAY_CONFIG_HPP

#include "mortise/outbox/relay_event.hpp"
#include "mortise/outbox/sink.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace mortise {
class lock_client;
}
namespace mortise::coro {
class time_source;
}

namespace mortise::outbox {

/// Which message table a relay empties, and into what.
class relay_config {
public:
    relay_config() = default;  // declared: no aggregate (docs/compilers.md, G3)

    /// The database with the message table, which is made if it is not there. The relay opens a
    /// session of its own.
    std::filesystem::path database;

    /// A file system layer that was registered with SQLite; empty: the default one.
    std::string vfs;

    /// Makes the sink of each shard.
    sink_factory sink;

    /// With locks, several relays share the table: each shard is emptied by the one that holds its
    /// lock (`mortise.outbox/ID-SHARD`), and the others stand by. Null: the last to come takes all.
    std::shared_ptr<lock_client> locks;

    /// With locks, how often a relay with more than one shard looks whether another has at least
    /// two fewer, to which it then passes some on: zero (never), or 1 ms to one day. It acts on the
    /// second look in a row that says so. A look costs a request to the store of the locks for each
    /// shard; with more than 16 shards it comes less often.
    std::chrono::milliseconds share_every{1'000};

    /// How often the relay looks whether the database was written to (`PRAGMA data_version`), for a
    /// commit that nobody rang for: its writer died before it could. 1 ms to one day, of real time.
    /// A look is one short read, and more only if there was something.
    std::chrono::milliseconds look_every{1'000};

    /// Messages of a batch: up to so many, and bytes in them: 1 to 1,000,000, 1 to 1 GiB. Each
    /// shard has two of them in memory: one is sent, the next one is read. After a failure batches
    /// are smaller for a while.
    std::size_t batch_rows = 5'000;
    std::size_t batch_bytes = 4u << 20;

    /// Rows that were sent are forgotten when there are so many (1 to 10,000,000), or after that
    /// time: 1 ms to one day.
    std::size_t purge_rows = 20'000;
    std::chrono::milliseconds purge_after{10'000};

    /// How long rows are kept after they were written, at least.
    std::chrono::milliseconds keep{0};

    /// The pause after something failed: drawn evenly up to a bound, which doubles from the first
    /// to the last of these; 1 ms to one day.
    std::chrono::milliseconds retry_first{50};
    std::chrono::milliseconds retry_max{10'000};

    /// How often it is looked whether topics are there by now to which messages were parked because
    /// they were not: 10 ms to one day. What was parked for that is then sent, each key in order.
    std::chrono::milliseconds topic_look_every{2'000};

    /// Hears what happens, on the relay's strand; must not throw or block.
    std::function<void(const relay_event&)> observer;

    /// Where time comes from; null: the real time.
    std::shared_ptr<coro::time_source> time;

    /// Of the pauses; zero: a random one.
    std::uint64_t jitter_seed = 0;
};

}  // namespace mortise::outbox

#endif
