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

/// The message table that a relay reads, and the sink to which it sends.
class relay_config {
public:
    relay_config() = default;  // declared: no aggregate (docs/compilers.md, G3)

    /// The database with the message table, which is created if it is missing. The relay opens a
    /// session of its own.
    std::filesystem::path database;

    /// A file system layer (VFS) that is registered with SQLite; empty: the default one.
    std::string vfs;

    /// Creates the sink of each shard.
    sink_factory sink;

    /// With locks, several relays share the table. Each shard is sent by the relay that holds its
    /// lock (`mortise.outbox/ID-SHARD`), and the others stand by. Null: the newest relay takes all
    /// shards.
    std::shared_ptr<lock_client> locks;

    /// How often a relay that has locks and more than one shard looks whether another relay has at
    /// least two fewer. It then passes some on, after two such looks in a row. Zero (never), or 1
    /// ms to one day. A look costs one request per shard to the store of the locks; with more than
    /// 16 shards it is made less often.
    std::chrono::milliseconds share_every{1'000};

    /// How often the relay looks whether the database was written to (`PRAGMA data_version`). This
    /// finds a commit whose writer died before it rang. 1 ms to one day, of real time. A look is
    /// one short read, and more only after a change.
    std::chrono::milliseconds look_every{1'000};

    /// Limits of a batch: its messages (1 to 1,000,000) and their bytes (1 to 1 GiB). Each shard
    /// has two batches in memory: one is sent while the next is read. After a failure, batches are
    /// smaller for a while.
    std::size_t batch_rows = 5'000;
    std::size_t batch_bytes = 4u << 20;

    /// When sent rows are purged: once there are this many (1 to 10,000,000), or after this time (1
    /// ms to one day).
    std::size_t purge_rows = 20'000;
    std::chrono::milliseconds purge_after{10'000};

    /// How long a row is kept after it was written, at least.
    std::chrono::milliseconds keep{0};

    /// The pause after a failure: drawn evenly below a bound, which doubles from `retry_first` up
    /// to `retry_max`; 1 ms to one day each.
    std::chrono::milliseconds retry_first{50};
    std::chrono::milliseconds retry_max{10'000};

    /// How often the relay looks whether a missing topic exists by now, if messages were parked for
    /// it: 10 ms to one day. It then sends what was parked for that reason, each key in order.
    std::chrono::milliseconds topic_look_every{2'000};

    /// Called for each event, on the relay's strand; must not throw or block.
    std::function<void(const relay_event&)> observer;

    /// The source of time; null: the real time.
    std::shared_ptr<coro::time_source> time;

    /// The seed for drawing the pauses; zero: a random one.
    std::uint64_t jitter_seed = 0;
};

}  // namespace mortise::outbox

#endif
