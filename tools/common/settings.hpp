// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_COMMON_SETTINGS_HPP
#define MORTISE_TOOLS_COMMON_SETTINGS_HPP

#include "mortise/open_store.hpp"
#include "mortise/options.hpp"
#include "mortise/outbox/operate.hpp"
#include "mortise/txn/transaction_view.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

// The settings of each command, as the command line gives them.

namespace mortise::tool {

struct global_settings {
    std::string store;  ///< Empty: the default of `default_store_url`; `bench` then makes its own.
    bool json = false;

    /// The URL of the store without passwords.
    std::string shown_store() const { return without_passwords(store); }
};

struct run_settings {
    std::string lock;
    std::vector<std::string> command;
    std::chrono::milliseconds wait = std::chrono::milliseconds::max();
    std::chrono::milliseconds grace{5'000};
    std::chrono::milliseconds ttl = client_config().ttl;
    std::chrono::milliseconds hold_max = std::chrono::milliseconds::max();
    lock_mode mode;
};

struct ls_settings {
    bool all = false;
};

struct show_settings {
    std::string lock;
};

struct break_settings {
    std::string lock;
    std::string why;
    std::optional<std::uint64_t> token;
    std::optional<std::uint32_t> slot;
};

struct watch_settings {
    std::string prefix;
};

struct doctor_settings {
    bool create = false;
};

struct init_settings {
    bool print = false;
};

struct txn_settings {
    enum class kind : std::uint8_t { ls, show, retry, skip, force, adopt, orphans };

    kind verb = kind::ls;
    std::string log;
    txn::list_filter filter = txn::list_filter::unfinished;
    std::string transaction;  ///< The gid, or only its number.
    txn::branch_number branch = 0;
    std::string why;
    std::chrono::milliseconds wait{5'000};
    std::vector<std::string> databases;  ///< Of `orphans`: their URLs.
};

/// How `outbox relay` reaches a Kafka cluster. An empty field keeps the default of the sink.
struct kafka_settings {
    std::string servers;
    std::vector<std::string> settings;   ///< "NAME=VALUE", each.
    std::vector<std::string> variables;  ///< "NAME=VARIABLE": of the environment.
    std::string file;                    ///< A file with lines NAME=VALUE.
    std::string progress_topic;
    int progress_partitions = 0;
    std::string id_prefix;
    std::chrono::milliseconds topic_wait{0};
};

struct outbox_settings {
    enum class kind : std::uint8_t {
        ls,
        show,
        parked,
        later,
        replay,
        drop,
        discard,
        cancel,
        reschedule,
        rebase,
        reshard,
        relay
    };

    kind verb = kind::ls;
    std::string database;
    bool rows = false;
    std::size_t rows_max = std::numeric_limits<std::size_t>::max();
    std::optional<std::int64_t> row;
    std::string id;                       ///< The id of a message, for `cancel` and `reschedule`.
    std::chrono::milliseconds due_in{0};  ///< `reschedule`: the time from now.
    std::optional<std::string> topic;     ///< `replay`: replaces the topic of the message.
    std::string payload_file;             ///< `replay`: the file that holds the new payload.
    std::vector<std::string> headers;     ///< `replay`: "NAME=VALUE", each.
    std::optional<std::uint32_t> shard;
    bool all = false;                       ///< Instead of one row, or one shard.
    bool yes = false;                       ///< The user accepts that something is given up.
    std::optional<outbox::position> where;  ///< `rebase`: where to go on.
    std::uint32_t shards = 0;               ///< `reshard`: the new number.
    std::string folder;                     ///< The folder for message files. Empty: send to Kafka.
    std::uint64_t file_bytes = 0;           ///< The size at which a file is closed; zero: never.
    std::uint64_t files_kept = 0;           ///< Closed files kept of each shard; zero: all.
    kafka_settings kafka;
    bool until_empty = false;
};

struct inbox_settings {
    enum class kind : std::uint8_t { ls, parked, replay, drop, move };

    kind verb = kind::ls;
    std::string database;
    std::optional<std::int64_t> row;
    bool all = false;
    bool yes = false;
    std::string inbox = "inbox";  ///< `move`: which inbox of the database,
    std::string source;           ///< which of its sources,
    std::int64_t next = 0;        ///< and the offset where it goes on.
};

struct bench_settings {
    enum class kind : std::uint8_t {
        handoff,
        contend,
        uncontended,
        local,
        waiters,
        idle,
        linger,
        takeover,
        tcc,
        txn,
        xa,
        relay
    };

    kind measurement = kind::handoff;
    unsigned processes = 1;
    unsigned tasks = 8;
    unsigned seconds = 3;
    unsigned in_flight = 64;
    std::uint64_t waiters = 100'000;
    std::uint64_t locks = 10'000;
    unsigned kills = 10;
    std::uint64_t transactions = 0;  ///< Zero: as many as the time allows.
    std::uint64_t recovery = 0;      ///< Unfinished transactions to recover; zero: skip that.
    std::uint64_t handover = 0;      ///< Transactions under way at a stop; zero: skip that.
    std::uint64_t backlog = 0;       ///< Transactions that wait; zero: skip that.
    std::string folder = ".";
    std::vector<std::string> databases;  ///< Of `xa`: their URLs.
    std::string kafka;                   ///< Some brokers of the cluster.
    std::uint64_t rows = 200'000;
    unsigned size = 200;  ///< Bytes of payload of each row.
    std::chrono::milliseconds ttl{1'000};
    bool local_handoff = true;
    std::uint64_t acquisitions = 2'000;
    std::chrono::milliseconds hold{2};
    std::chrono::milliseconds think{50};
};

/// A process that works for a `bench` process: `bench-worker`, which `--help` does not list.
struct bench_worker_settings {
    bench_settings bench;
    std::string lock;
    unsigned index = 0;  ///< The index of this process.
    int board = -1;      ///< Inherited descriptors: the shared memory,
    int ready = -1;      ///< the pipe that reports "ready" by a byte and "gone" by its end,
    int go = -1;         ///< the pipe whose end means "begin",
    int peer = -1;       ///< and the socket to the other process, or -1.
};

}  // namespace mortise::tool

#endif
