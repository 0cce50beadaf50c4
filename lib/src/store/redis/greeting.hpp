// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_GREETING_HPP
#define MORTISE_STORE_REDIS_GREETING_HPP

#include "mortise/store/redis.hpp"
#include "store/redis/redis_failure.hpp"
#include "store/redis/redis_wire.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::store_detail {

enum class redis_role : std::uint8_t {
    server,    ///< With data, and writable.
    sentinel,  ///< No store.
    node,      ///< Of a cluster; perhaps a replica.
};

/// Where a wire leads, and how it connects.
struct wire_settings {
    wire_settings() = default;

    std::string host;
    std::uint16_t port = 0;
    std::filesystem::path socket;  ///< A Unix socket; if there is one, no host and no port.
    unsigned database = 0;
    redis_login login;
    std::function<redis_login()> ask_login;  ///< If it is set, it says the login each time.
    std::string client_name = "mortise";
    bool no_evict = false;
    bool tls = false;
    std::string tls_name;  ///< The name that the certificate must have; empty: `host`.
    std::filesystem::path ca_file;
    std::filesystem::path certificate_file;
    std::filesystem::path key_file;
    std::chrono::milliseconds connect_max{5'000};
    std::chrono::microseconds busy_poll_max{0};
    redis_role role = redis_role::server;  ///< What the server must be.
};

/// The first commands on a connection: RESP3, the login, the name of the client, and the database.
std::vector<redis_command> greeting_of(const wire_settings& settings, const redis_login& login);

/// What is wrong with the server that answered so, as far as it did; no code if nothing is.
redis_failure
judge_greeting(const std::vector<redis_value>& replies, const wire_settings& settings);

/// Judges a server by its replies to a greeting (`HELLO 3`) and perhaps to the choice of a database
/// (`SELECT`): what is wrong with the server, or no code if nothing is.
///
/// @param wanted what the server must be.
redis_failure judge_hello(const std::vector<redis_value>& replies, redis_role wanted);

/// Whether a push answers a command that subscribes to a channel, or ends that. A server may end a
/// subscription by itself, by a push of another kind than the one that is waited for.
bool answers_command(const redis_value& push, std::string_view name) noexcept;

}  // namespace mortise::store_detail

#endif
