// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_REDIS_MODEL_SIM_ENDPOINT_HPP
#define MORTISE_TESTS_REDIS_MODEL_SIM_ENDPOINT_HPP

#include "mortise/sim/process.hpp"
#include "redis_model/model_redis.hpp"
#include "redis_model/sim_redis.hpp"
#include "support/tcp_inbox.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace mortise::redis_model {

class sim_wire;

using connection_id = std::uint64_t;

/// A message from a client.
struct client_message {
    enum class kind : std::uint8_t { open, command, farewell };
    kind type = kind::command;
    store_detail::redis_command words;
};

/// A message from the server.
struct server_message {
    enum class kind : std::uint8_t { accepted, reply, push };
    kind type = kind::reply;
    store_detail::redis_value value;
};

/// The server's end of all connections.
///
/// @par Threads The world's.
class sim_endpoint final : public std::enable_shared_from_this<sim_endpoint> {
public:
    sim_endpoint(sim::world& in, std::string name, std::size_t undo_max);

    sim::process& host() noexcept { return host_; }
    model_redis& model() noexcept { return model_; }
    bool runs() const noexcept { return runs_; }
    std::size_t connections() const noexcept { return connections_.size(); }
    connection_id next_id() noexcept { return ++last_id_; }

    void crash();
    void start(kept data, std::size_t changes_lost);
    void drop_clients();
    void lose_pushes(std::size_t count) noexcept { pushes_to_lose_ = count; }
    void shift_clock(clock::duration by) noexcept { clock_offset_ += by; }
    /// The machine has started, and the server with it.
    void boot();

    /// A message has arrived at the machine.
    void arrived(
        const std::shared_ptr<sim_endpoint>& self,
        connection_id from,
        sim::process& client,
        const std::weak_ptr<sim_wire>& wire,
        std::uint64_t number,
        client_message message
    );

private:
    struct connection {
        sim::process* client = nullptr;
        std::uint64_t client_life = 0;
        std::weak_ptr<sim_wire> wire;
        test::tcp_inbox<client_message> inbox;
        std::uint64_t sent = 0;
        model_redis::client_id known_as = 0;
        clock::time_point heard;
    };

    std::int64_t server_clock() const;
    void accept(connection_id id);
    /// @return whether the connection still exists.
    bool execute(connection_id id, const client_message& message);
    void send(connection_id to, server_message message);
    void push(connection_id to, store_detail::redis_value message);
    void close(connection_id id);
    void reset(connection_id id);
    void send_reset(sim::process& client, const std::weak_ptr<sim_wire>& wire);
    void break_at_hole(connection_id id, std::uint64_t awaited);
    void forget_the_dead();

    sim::world& world_;
    sim::process& host_;
    clock::duration clock_offset_{};
    model_redis model_;
    std::map<connection_id, connection> connections_;
    std::set<connection_id> seen_;
    connection_id last_id_ = 0;
    std::size_t pushes_to_lose_ = 0;
    bool runs_ = true;
    bool subscribing_ = false;
};

}  // namespace mortise::redis_model

#endif
