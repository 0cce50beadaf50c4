// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_STORE_SERVER_HPP
#define MORTISE_TESTS_SUPPORT_STORE_SERVER_HPP

#include <cstdint>
#include <memory>
#include <string>

namespace mortise::test {

/// A server of the test's own with a lock store in it, as tests with real processes use it: they
/// harm it, and count what the store has there.
///
/// @par Threads One at a time: the one that made it, with which the server dies.
class store_server {
public:
    virtual ~store_server() = default;
    store_server() = default;
    store_server(const store_server&) = delete;
    store_server& operator=(const store_server&) = delete;

    /// Of the store.
    virtual std::string url() const = 0;
    /// Options of the URL that clients need, each with an ampersand behind it.
    virtual std::string options() const { return {}; }

    /// Ends the connections of all clients.
    virtual void end_connections() = 0;
    /// SIGSTOP and SIGCONT for all of its processes.
    virtual void suspend() = 0;
    virtual void resume() = 0;
    /// Stops it in order and starts it.
    virtual void restart() = 0;
    /// Kills it and starts it.
    virtual void crash() = 0;

    /// How many hold the lock or wait for it. Zero before the store has been used.
    virtual std::int64_t parties(const std::string& name) const = 0;
    virtual std::int64_t sessions() const = 0;
    /// What lies there of any session; empty: nothing.
    virtual std::string residue() const = 0;
};

std::unique_ptr<store_server> make_zookeeper_store_server();
/// With the form of single nodes.
std::unique_ptr<store_server> make_zookeeper_node_server();

}  // namespace mortise::test

#endif
