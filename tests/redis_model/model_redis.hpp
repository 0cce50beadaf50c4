// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_REDIS_MODEL_MODEL_REDIS_HPP
#define MORTISE_TESTS_REDIS_MODEL_MODEL_REDIS_HPP

#include "redis_model/conditions.hpp"
#include "redis_model/keyspace.hpp"
#include "store/redis/redis_wire.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

namespace mortise::redis_model {

class server_state;

/// A Redis server as a model in memory: its commands, data, scripts, subscribers, and faults, which
/// tests switch on. It replies as a server of version 7.0 does to a client that speaks RESP3. A
/// test compares the replies with those of a real server.
///
/// @par Threads One.
class model_redis {
public:
    using client_id = std::uint64_t;
    /// Returns microseconds since the epoch.
    using clock_function = std::function<std::int64_t()>;
    using push_function = std::function<void(store_detail::redis_value)>;

    /// Makes a server that has run for an hour.
    /// @param undo_max how many changes `restart` can undo.
    explicit model_redis(clock_function clock, std::size_t undo_max = 0);
    ~model_redis();
    model_redis(const model_redis&) = delete;
    model_redis& operator=(const model_redis&) = delete;

    /// `push` receives what the server sends unasked: before the reply of the command that causes
    /// it. Only notices of changed keys come after the reply.
    client_id connect(push_function push);
    void disconnect(client_id who);

    /// A subscription is confirmed by a push. The reply is then null; a real server sends none.
    store_detail::redis_value execute(client_id who, const store_detail::redis_command& words);

    /// Sends the changes of the last command to the clients that track keys.
    void tell_changes();

    /// Removes expired keys, as a server does now and then.
    void expire();

    /// Starts another run without clients and scripts. It has all keys except for the last changes:
    /// like a lagging replica that was promoted, or a log that was not written to its end.
    void restart(std::size_t changes_lost = 0);
    /// The same without any keys.
    void restart_empty();
    /// Like `restart`, but a replica that has run for long replaces its primary.
    void fail_over(std::size_t changes_lost = 0);

    /// From now on a restart keeps the old run id, which no real server does.
    void hide_restarts() noexcept { restarts_hidden_ = true; }

    /// Evicts a key because memory is short.
    void evict(const std::string& key);
    void forget_scripts();

    conditions& wrong() noexcept;
    /// Sets how many replicas exist and acknowledge what they receive.
    void set_replicas(std::size_t count);
    void configure(const std::string& name, const std::string& value);

    const keyspace::key_map& keys() const noexcept;
    const std::string& run_id() const noexcept;
    std::size_t clients() const noexcept;

private:
    void begin_run();

    clock_function clock_;
    std::unique_ptr<server_state> state_;
    client_id last_client_ = 0;
    std::uint64_t runs_ = 0;
    bool restarts_hidden_ = false;
    struct change {
        std::set<std::string> keys;
        client_id by = 0;
    };
    change untold_;
};

}  // namespace mortise::redis_model

#endif
