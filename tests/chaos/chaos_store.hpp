// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CHAOS_CHAOS_STORE_HPP
#define MORTISE_TESTS_CHAOS_CHAOS_STORE_HPP

#include "chaos/actor_process.hpp"
#include "support/scratch_folder.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace mortise::test {

/// A store that processes can share, as the chaos suite needs it: how to open it, how soon it
/// replaces the dead, and how much lies there. Each has a folder and a server of its own.
class chaos_store {
public:
    virtual ~chaos_store() = default;

    /// The store as an actor opens it: a URL or a file.
    virtual std::string address() const = 0;

    /// A TTL that is short, and long enough not to run out by chance.
    virtual std::chrono::milliseconds ttl() const = 0;

    /// How long after the death of a holder the next one has its lock at the latest.
    virtual std::chrono::milliseconds takeover_max() const = 0;

    /// How many hold the lock or wait for it.
    virtual std::int64_t parties(const std::string& name) = 0;

    virtual std::int64_t sessions() = 0;

    /// Whether nothing of any session lies there.
    virtual bool empty() = 0;

    // Harm to the server, which only stores at a server have.

    /// SIGSTOP and SIGCONT for all of its processes.
    virtual void suspend() {}
    virtual void resume() {}
    /// Ends the connections of all clients.
    virtual void end_connections() {}
    /// Stops it in order and starts it, with its data.
    virtual void restart() {}

    std::unique_ptr<actor_process> start() const { return start(ttl()); }
    std::unique_ptr<actor_process> start(std::chrono::milliseconds its_ttl) const {
        return std::make_unique<actor_process>(address(), folder(), its_ttl);
    }

    /// The folder of the actors' resource.
    const std::filesystem::path& folder() const noexcept { return folder_.path(); }

private:
    const scratch_folder folder_;
};

using chaos_store_factory = std::unique_ptr<chaos_store> (*)();

std::unique_ptr<chaos_store> make_sqlite_chaos_store();
std::unique_ptr<chaos_store> make_redis_chaos_store();
std::unique_ptr<chaos_store> make_postgres_chaos_store();
std::unique_ptr<chaos_store> make_mysql_chaos_store();

}  // namespace mortise::test

#endif
