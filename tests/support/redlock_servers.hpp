// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_REDLOCK_SERVERS_HPP
#define MORTISE_TESTS_SUPPORT_REDLOCK_SERVERS_HPP

#include "mortise/store/redlock.hpp"
#include "support/redis_server.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mortise::test {

/// The independent servers of a Redlock store.
///
/// @par Threads As `redis_server`.
class redlock_servers {
public:
    explicit redlock_servers(std::size_t count, const redis_server::settings& chosen = {});

    std::size_t size() const noexcept { return servers_.size(); }
    redis_server& at(std::size_t index) { return *servers_.at(index); }

    /// A store of all of them, which need not be asked whether they are new.
    redlock_store_config config() const;

    /// How many sessions the node with the most of them has.
    std::int64_t sessions(const std::string& prefix = "mortise:");
    /// How much the node with the most of it keeps for sessions: one that was slow may have less. A
    /// server that does not run keeps nothing.
    std::size_t residue(const std::string& prefix = "mortise:");
    /// The keys that `residue` counts, for people.
    std::string left(const std::string& prefix = "mortise:");

private:
    std::vector<std::string> keys(std::size_t index, const std::string& prefix);

    std::vector<std::unique_ptr<redis_server>> servers_;
};

/// Three servers for all tests of this program that need only keys of their own. They start when
/// they are first asked for, which must be on the main thread.
redlock_servers& shared_nodes();

}  // namespace mortise::test

#endif
