// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SIM_BACKEND_HPP
#define MORTISE_TESTS_SIM_BACKEND_HPP

#include "mortise/sim/process.hpp"
#include "mortise/store.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::sim {
class world;
}

namespace mortise::test {

/// The TTL of all clients of a run.
inline constexpr std::chrono::milliseconds sim_ttl{2'000};

/// The store of a run, and the faults that it can have.
class backend {
public:
    virtual ~backend() = default;

    /// Adds a process that can use the store. It does not run yet.
    virtual sim::process& add_client(std::string name) = 0;
    virtual std::unique_ptr<store> make_store(sim::process& client) = 0;

    /// Starts one fault of the store's own kind, which ends by itself within `span`.
    virtual void misbehave(clock::duration span) = 0;
    /// Starts a fault between a client and the store, which ends by itself, too.
    virtual void cut_off(sim::process& client, clock::duration span) = 0;
    /// Ends all faults.
    virtual void heal() = 0;

    /// Describes what stopped clients left behind; empty if nothing.
    virtual std::string residue() = 0;

protected:
    backend() = default;
    backend(const backend&) = default;
    backend& operator=(const backend&) = default;
};

/// A lock server in the network.
std::unique_ptr<backend> make_server_backend(sim::world& in);

/// Two lock servers, each with half of the locks, which fail one at a time.
std::unique_ptr<backend> make_server_pair_backend(sim::world& in);

/// The SQLite store, all clients on one machine. Its faults: a disk that fails, hangs, is full or
/// locked, a power failure that takes what was not synced, and lost datagrams.
std::unique_ptr<backend> make_sqlite_backend(sim::world& in);

/// The Redis store on the model of a server. Its faults: a restart with less data, too little
/// memory, a replica, a busy server, forgotten scripts.
std::unique_ptr<backend> make_redis_backend(sim::world& in);

/// The Redlock store on models of three servers, which fail one at a time or together. Its faults:
/// those of the Redis store, but for a replica.
std::unique_ptr<backend> make_redlock_backend(sim::world& in);

/// The shell of SQL stores on the model of a server, on the short ways and on the general one. Its
/// faults: those of the lock server, and short ways that are closed.
std::unique_ptr<backend> make_sql_backend(sim::world& in);

#ifdef MORTISE_TESTS_ZOOKEEPER_MODEL
/// The ZooKeeper store on a model of an ensemble of three servers, of which any can fail, stand
/// still or be cut off from the others. Its faults: those of servers and of the network between.
std::unique_ptr<backend> make_zookeeper_backend(sim::world& in);
/// The same in the form of single nodes.
std::unique_ptr<backend> make_zookeeper_node_backend(sim::world& in);
#endif

/// Finds a backend by its name on the command line; null: there is none.
std::unique_ptr<backend> make_backend(std::string_view name, sim::world& in);
std::vector<std::string> backend_names();

}  // namespace mortise::test

#endif
