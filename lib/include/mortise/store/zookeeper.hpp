// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_ZOOKEEPER_HPP
#define MORTISE_STORE_ZOOKEEPER_HPP

#include "mortise/store.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise {

/// Where a server of an ensemble listens.
class zookeeper_address {
public:
    static constexpr std::uint16_t usual_port = 2181;

    zookeeper_address() = default;  // declared: no aggregate (docs/compilers.md, G3)
    zookeeper_address(std::string name, std::uint16_t number)
        : host(std::move(name)), port(number) {}

    std::string host = "localhost";
    std::uint16_t port = usual_port;
};

/// How nodes keep locks.
enum class zookeeper_form : std::uint8_t {
    queue,  ///< A queue of nodes for each lock: all modes, in the order of the requests.
    /// One node for a lock, which is there while the lock is held: the fewest writes for a lock
    /// that is nearly always free. Exclusive locks only, in no order, and all who wait are woken by
    /// each release: see docs/stores/zookeeper.md.
    single_node,
};

/// The settings of a ZooKeeper store: which ensemble keeps the locks, and where in it.
class zookeeper_store_config {
public:
    zookeeper_store_config() = default;  // declared: no aggregate (docs/compilers.md, G3)

    /// The servers of the ensemble, or some of them.
    std::vector<zookeeper_address> servers = {zookeeper_address()};

    /// The node below which everything lies; it is made if it is not there.
    std::string root = "/mortise";

    /// All clients of a root need the same one; others are refused.
    zookeeper_form form = zookeeper_form::queue;

    /// For digest authentication, both or none. With it, only clients of this name and password
    /// may touch what the store makes.
    std::string user;
    std::string password;

    /// The domain of the tokens, 1 to 25 characters without `#`; empty: made from a random number.
    /// Written into a new store; an existing store keeps its own, and another one is then refused.
    std::string domain;

    /// The servers' `tickTime`, or more: the deadline of a lease rests on it
    /// (docs/stores/zookeeper.md).
    std::chrono::milliseconds tick{2'000};

    /// How long to try to reach any of the servers, the look-up of their names included.
    std::chrono::milliseconds connect_max{10'000};

    /// The most bytes that the paths of all nodes of one client may have: a request beyond them
    /// fails with `store_full`. A node has the root, the name of its lock, in which bytes but
    /// letters, digits and `_` take three, and up to 80 bytes more. Servers with the usual
    /// `jute.maxbuffer` write down the end of a session with 2 MB of paths, and then do not start
    /// again (docs/stores/zookeeper.md).
    std::size_t paths_max = 1'900'000;
};

/// Reads the settings of a ZooKeeper store from a URL:
/// `zookeeper://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...][/ROOT]`, with the options `domain`,
/// `form` (`queue` or `single_node`), `tick_ms`, `connect_max_ms`, `paths_max_bytes`,
/// `password_file` and `password_env`.
/// @throws error `unknown_scheme`, `bad_url`, `bad_config`
zookeeper_store_config parse_zookeeper_url(std::string_view url);

/// A store for all processes that reach one ensemble of ZooKeeper servers, of version 3.5 or newer.
///
/// Opens nothing yet but checks what can be checked without I/O; the first acquire connects.
/// @throws error if the configuration cannot work.
std::unique_ptr<store> make_zookeeper_store(zookeeper_store_config config);

}  // namespace mortise

#endif
