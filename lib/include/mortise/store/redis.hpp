// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_HPP
#define MORTISE_STORE_REDIS_HPP

#include "mortise/store.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mortise {

/// Where a Redis server, or a sentinel, listens.
struct redis_address {
    redis_address() = default;
    redis_address(std::string at, std::uint16_t number) : host(std::move(at)), port(number) {}

    std::string host = "127.0.0.1";  ///< A name or an address.
    std::uint16_t port = 6379;
};

/// Who a client is for the server.
struct redis_login {
    redis_login() = default;

    std::string user;      ///< Empty: the server's `default` user.
    std::string password;  ///< Empty: no login.
};

/// How a lock is kept at the server.
enum class redis_form : std::uint8_t {
    queue,  ///< Sessions, queues, tokens, all modes: for clients of this library.
    /// One key for a lock, set by `SET key value NX PX`, as clients of other makes do: both meet
    /// there. No queue, no sessions, exclusive locks only, no tokens unless asked for: see
    /// docs/stores/redis.md for what holds and what does not.
    single_key,
};

/// The settings of a Redis store: which server keeps the locks, and how to talk to it.
class redis_store_config {
public:
    redis_store_config() = default;  // declared: no aggregate (docs/compilers.md, G3)

    redis_address server;
    /// The path of the server's Unix socket; empty: `server` is used. For a server on the same
    /// host, where it saves a third of the time of a command.
    std::filesystem::path unix_socket;

    /// If there are any, the server is the primary that they name, and `server` is not used.
    std::vector<redis_address> sentinels;
    std::string primary_name;  ///< The sentinels' name for it.

    /// Any nodes of a Redis Cluster. If there are some, the server is the one that has the slot of
    /// the locks by now, and `server` is not used.
    std::vector<redis_address> cluster;
    /// Of a cluster: over how many slots the locks are spread, by their names, 1 to 1024. Each of
    /// them has a session of its own, so that an outage of one node concerns the locks that lie
    /// there. All clients of a store need the same number, which the store remembers: another one
    /// is refused (`bad_config`). 1: all keys lie in one slot, at one node.
    unsigned buckets = 64;

    unsigned database = 0;

    /// The user to log in as; empty: the server's `default` user.
    std::string user;
    /// Empty: no login. Never shown, whatever goes wrong.
    std::string password;
    /// Says the login before each connection, instead of the two above: for passwords and tokens
    /// that change. Called on the client's strand; it must not block and must not throw, so keep
    /// the newest token at hand. A connection that is open keeps the login that it has.
    std::function<redis_login()> ask_login;
    /// The user to log in as at the sentinels; empty: their `default` user.
    std::string sentinel_user;
    /// The password for that; empty: no login at the sentinels.
    std::string sentinel_password;

    redis_form form = redis_form::queue;

    /// In the single-key form: give tokens, counted by one key more. The queue form always does.
    bool tokens = false;

    /// The beginning of all keys and channels of this store: up to 64 printable characters except
    /// quotes, backslash and braces; empty: `mortise:`. Two stores on one server need different
    /// ones, neither of which begins with the other.
    ///
    /// In the single-key form the key of a lock is the prefix and its name; empty: the name alone.
    std::string prefix;

    /// The domain of the tokens, 1 to 25 characters without `#`; empty: made from the store's
    /// random id. Written into a new store; an existing store keeps its own, and another one is
    /// then refused. In the single-key form it is written nowhere; empty: `redis-key`.
    std::string domain;

    /// What `CLIENT LIST` calls the connections: 1 to 64 printable characters without a space.
    std::string client_name = "mortise";
    /// Ask the server to close other connections first if all of them take too much memory (Redis
    /// 7; the login needs `+client|no-evict`). What it answers does not matter.
    bool no_evict = false;

    bool tls = false;
    /// The name that the server's certificate must have; empty: `server.host`, or the host that
    /// the sentinels or the cluster name.
    std::string tls_name;
    /// The authorities to trust (PEM); empty: those that the system trusts. The server's
    /// certificate must have the name above.
    std::filesystem::path ca_file;
    std::filesystem::path certificate_file;  ///< Our own (PEM), if the server asks for one,
    std::filesystem::path key_file;          ///< with its key.

    /// A grant or a heartbeat counts when this many replicas have acknowledged it. To keep locks
    /// exclusive over a fail-over, set the number of all replicas that can be promoted. Queue form
    /// only.
    unsigned min_replicas = 0;

    /// Accept a server that evicts keys when its memory is full, and with them locks.
    bool allow_eviction = false;

    /// Accept a server that does not tell which run of it answers (its access rules refuse `INFO`).
    /// A restart that forgot locks goes unnoticed there, and such a lock may have two holders for
    /// as long as its lease is believed in. The single-key form never asks which run it is.
    bool allow_unseen_restarts = false;

    /// If the store finds nothing of itself at the server, it assumes that there never was
    /// anything. Otherwise a server that has just started, or was flushed, may have forgotten who
    /// holds a lock, and the first grant waits for `longest_ttl`. For tests and demonstrations.
    /// Queue form only.
    bool assume_new = false;

    /// No client of the store has a longer TTL, as far as this one knows: 1 ms to one day. A server
    /// that forgot a holder forgot its TTL, too, and nothing is granted for as long as a lease of
    /// this length may still be believed in; longer if this client's own TTL is longer, or the
    /// store remembers a longer one. So if any client has a longer TTL than this, set it for all of
    /// them. Queue form only.
    std::chrono::milliseconds longest_ttl{5'000};

    /// How long to wait for a connection: 1 ms to one day.
    std::chrono::milliseconds connect_max{5'000};

    /// How long the event loop stays awake for a reply before it sleeps, at most 1 ms; zero: never.
    /// It saves the time to wake it up: two thirds of an uncontended cycle at a server on the same
    /// host or beside it, for one processor meanwhile. Other handlers have their turn as ever, and
    /// where replies come later than this, or others want the processor, it stops by itself.
    std::chrono::microseconds busy_poll_max{50};
};

/// Reads the settings of a Redis store from a URL: see `open_store`. Reads also the files and the
/// variables of the environment that it names for passwords.
/// @throws error `unknown_scheme`, `bad_url`, `bad_config`
redis_store_config parse_redis_url(std::string_view url);

/// A store for all processes that reach one Redis server, of version 6 or newer.
///
/// Opens nothing yet but checks what can be checked without I/O; the first acquire connects.
/// @throws error if the configuration cannot work.
std::unique_ptr<store> make_redis_store(redis_store_config config);

}  // namespace mortise

#endif
