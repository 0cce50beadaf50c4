// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_REDIS_MODEL_SERVER_STATE_HPP
#define MORTISE_TESTS_REDIS_MODEL_SERVER_STATE_HPP

#include "redis_model/conditions.hpp"
#include "redis_model/keyspace.hpp"
#include "redis_model/script_engine.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace mortise::redis_model {

/// A connected client.
struct client_state {
    std::function<void(store_detail::redis_value)> push;
    std::string name;
    bool trusted = false;  ///< It has logged in.
    std::set<std::string> channels;
    bool tracks = false;  ///< It receives notices of changed keys.
    bool hears_itself = true;
    std::set<std::string> prefixes;
};

/// The counters for INFO.
struct server_counts {
    std::uint64_t connections = 0;
    std::uint64_t commands = 0;
    std::uint64_t evicted = 0;
    std::map<std::string, std::uint64_t> calls;   ///< By command, in small letters.
    std::map<std::string, std::uint64_t> failed;  ///< The same.
};

/// The whole state of a server, and what it does for its commands.
class server_state {
public:
    explicit server_state(std::size_t undo_max) : data(undo_max) {}

    /// Sends to the subscribers.
    /// @return how many there were.
    std::size_t publish(const std::string& channel, const std::string& text);
    /// Notifies the clients that track the keys. Client `by` changed them.
    void tell_changed(const std::set<std::string>& keys, std::uint64_t by);
    /// Notifies them that all keys are gone.
    void tell_flushed();

    keyspace data;
    conditions wrong;
    server_counts counts;
    std::map<std::string, std::string> config;
    std::map<std::uint64_t, client_state> clients;
    std::unique_ptr<script_engine> scripts = std::make_unique<script_engine>();
    std::string run_id;
    std::string former_id;    ///< The run id of its primary, before it was promoted.
    std::int64_t now_us = 0;  ///< Since the epoch.
    std::int64_t started_us = 0;
    std::int64_t offset = 0;     ///< The replication offset.
    std::size_t replicas = 0;    ///< How many exist and acknowledge what they receive.
    bool oom_at_script = false;  ///< Memory was short when the present script began.
    bool script_has_written = false;
};

}  // namespace mortise::redis_model

#endif
