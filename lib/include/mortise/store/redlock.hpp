// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDLOCK_HPP
#define MORTISE_STORE_REDLOCK_HPP

#include "mortise/store.hpp"
#include "mortise/store/redis.hpp"

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mortise {

/// The settings of a Redlock store: the independent Redis servers of which a majority grants locks.
class redlock_store_config {
public:
    redlock_store_config() = default;  // declared: no aggregate (docs/compilers.md, G3)

    /// The servers, the *nodes*: an odd number of them, from 3 to 9, none of them a replica of
    /// another. An even number survives no more failures than the one below it. All clients of a
    /// store must list the same ones, in any order; a list of another length is refused.
    std::vector<redis_address> servers;

    unsigned database = 0;  ///< At each of them.

    /// The user to log in as at each node; empty: its `default` user.
    std::string user;
    /// Empty: no login. Never shown, whatever goes wrong.
    std::string password;
    /// As `redis_store_config::ask_login`.
    std::function<redis_login()> ask_login;

    /// As `redis_store_config::prefix`; empty: `mortise:`. A store of another kind at the same
    /// server needs another prefix.
    std::string prefix;

    /// The domain of the tokens, 1 to 25 characters without `#`; empty: `redlock`. It is written
    /// nowhere, so all clients of a store must name the same one.
    std::string domain;

    /// What `CLIENT LIST` calls the connections: 1 to 64 printable characters without a space.
    std::string client_name = "mortise";

    bool tls = false;
    /// The name that the nodes' certificates must have; empty: the host of each.
    std::string tls_name;
    std::filesystem::path ca_file;           ///< As `redis_store_config::ca_file`.
    std::filesystem::path certificate_file;  ///< Our own (PEM), if the nodes ask for one,
    std::filesystem::path key_file;          ///< with its key.

    /// Accept nodes that evict keys when their memory is full, and with them votes and counters.
    bool allow_eviction = false;

    /// A node at which the store finds nothing of itself never had anything. Otherwise it may have
    /// forgotten who has its votes, and gives none for `longest_ttl`. For tests and demonstrations.
    bool assume_new = false;

    /// No client of the store has a longer TTL: 1 ms to one day. A node that has restarted and may
    /// have forgotten votes gives none for so long. A client with a longer TTL is refused
    /// (`ttl_too_long`): raise this for all of them first.
    std::chrono::milliseconds longest_ttl{5'000};

    /// How long to wait for a connection to a node: 1 ms to one day.
    std::chrono::milliseconds connect_max{5'000};
};

/// Reads the settings of a Redlock store from a URL:
/// `redlock://[USER:PASSWORD@]HOST[:PORT],HOST[:PORT],HOST[:PORT][,...][/DATABASE]`, over TLS
/// `redlocks://`, with the options `prefix`, `domain`, `allow_eviction`, `assume_new`,
/// `longest_ttl_ms`, `connect_max_ms`, `client_name`, `ca_file`, `certificate_file`, `key_file`,
/// `tls_name`, `password_file` and `password_env`.
/// @throws error `unknown_scheme`, `bad_url`, `bad_config`
redlock_store_config parse_redlock_url(std::string_view url);

/// A store for all processes that reach most of several independent Redis servers, of version 6 or
/// newer. It has exclusive locks only, and no record of broken locks.
///
/// Opens nothing yet but checks what can be checked without I/O; the first acquire connects.
/// @throws error if the configuration cannot work.
std::unique_ptr<store> make_redlock_store(redlock_store_config config);

}  // namespace mortise

#endif
