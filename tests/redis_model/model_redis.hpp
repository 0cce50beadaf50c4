// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_REDIS_MODEL_MODEL_REDIS_HPP
#define MORTISE_TESTS_REDIS_MODEL_MODEL_REDIS_HPP

#include "redis_model/conditions.hpp"
#include "redis_model/keyspace.hpp"
#include "store/redis/redis_value.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

namespace mortise::redis_model {

class server_state;

/// What a Redis server does with commands, in memory: its data, its scripts, its subscribers, and
/// its bad behaviour, which tests switch on. Replies are those of a server of version 7.0 to a
/// client that speaks RESP3; a test holds them to the real one's.
///
/// @par Threads One.
class model_redis {
public:
    using client_id = std::uint64_t;
    /// Microseconds since the epoch.
    using clock_function = std::function<std::int64_t()>;
    using push_function = std::function<void(store_detail::redis_value)>;

    /// One that has run for an hour.
    /// @param undo_max how many changes can be undone by `restart`.
    explicit model_redis(clock_function clock, std::size_t undo_max = 0);
    ~model_redis();
    model_redis(const model_redis&) = delete;
    model_redis& operator=(const model_redis&) = delete;

    /// `push` is called for what the server says by itself: before the reply of the command that
    /// causes it, but for changed keys, which are told after it.
    client_id connect(push_function push);
    void disconnect(client_id who);

    /// What is subscribed to is confirmed by pushes; the reply is null, and a real server sends
    /// none.
    store_detail::redis_value execute(client_id who, const store_detail::redis_command& words);

    /// Tells what the last command changed to those who track keys.
    void tell_changes();

    /// Takes away what has expired, as a server does now and then.
    void expire();

    /// It is another run, without clients and without scripts, which has all keys but for the
    /// last changes: those of a lagging replica that was promoted, or of a log that was not
    /// written to its end.
    void restart(std::size_t changes_lost = 0);
    /// The same, without any keys.
    void restart_empty();
    /// As `restart`, but of a replica that has run for long and takes the place of its primary.
    void fail_over(std::size_t changes_lost = 0);

    /// From now on it says that it is the same run as before, which no real server does.
    void hide_restarts() noexcept { restarts_hidden_ = true; }

    /// Takes a key away because memory is short.
    void evict(const std::string& key);
    void forget_scripts();

    conditions& wrong() noexcept;
    /// How many replicas there are, and acknowledge what they are sent.
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
