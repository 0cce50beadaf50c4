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

/// Of all clients of a run.
inline constexpr std::chrono::milliseconds sim_ttl{2'000};

/// The store of a run, and what can go wrong with it.
class backend {
public:
    virtual ~backend() = default;

    /// A process that can use it, which does not run yet.
    virtual sim::process& add_client(std::string name) = 0;
    virtual std::unique_ptr<store> make_store(sim::process& client) = 0;

    /// One fault of its own, which ends by itself within `span`.
    virtual void misbehave(clock::duration span) = 0;
    /// Between a client and the store: one that ends by itself, too.
    virtual void cut_off(sim::process& client, clock::duration span) = 0;
    /// Nothing goes wrong any more.
    virtual void heal() = 0;

    /// What is left behind by clients that have all stopped; empty: nothing.
    virtual std::string residue() = 0;

protected:
    backend() = default;
    backend(const backend&) = default;
    backend& operator=(const backend&) = default;
};

/// A lock server in the network.
std::unique_ptr<backend> make_server_backend(sim::world& in);

/// The SQLite store itself, all clients on one machine: a disk that fails, hangs, is full or
/// locked, a power failure that takes what was not synced, and datagrams that get lost.
std::unique_ptr<backend> make_sqlite_backend(sim::world& in);

/// The Redis store itself at the model of a server: one that restarts with less than it had, is
/// short of memory, is a replica, is busy, forgets its scripts.
std::unique_ptr<backend> make_redis_backend(sim::world& in);

/// By the name that the command line has for it; null: there is none.
std::unique_ptr<backend> make_backend(std::string_view name, sim::world& in);
std::vector<std::string> backend_names();

}  // namespace mortise::test

#endif
