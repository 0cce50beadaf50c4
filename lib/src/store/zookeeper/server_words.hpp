// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_ZOOKEEPER_SERVER_WORDS_HPP
#define MORTISE_STORE_ZOOKEEPER_SERVER_WORDS_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::store_detail {

// What a ZooKeeper server tells of itself to whoever asks, without a session of the store. No I/O.

/// The settings of a server, which tells them where its `4lw.commands.whitelist` has `conf`.
struct server_settings {
    server_settings() = default;

    std::chrono::milliseconds tick{0};         ///< tickTime
    std::chrono::milliseconds session_min{0};  ///< minSessionTimeout
    std::chrono::milliseconds session_max{0};  ///< maxSessionTimeout
    /// How long a leader and its followers wait for each other: syncLimit ticks. Zero: the server
    /// is alone.
    std::chrono::milliseconds sync{0};
    /// How many connections a host may have to it (maxClientCnxns); zero: as many as it likes.
    std::uint32_t connections_max = 0;
};

/// The answer to `conf`; nothing if it is a refusal.
std::optional<server_settings> parse_settings(std::string_view answer);

/// What a server is at present. Servers tell that unless they are told not to (`srvr`).
struct server_state {
    server_state() = default;

    std::string version;
    std::string role;  ///< leader, follower, observer, standalone
};

/// The answer to `srvr`; nothing if it is a refusal, or the server does not serve.
std::optional<server_state> parse_state(std::string_view answer);

// A session that is begun and ended, to learn how long a time-out a server grants. The C client
// would end one by waiting for the server, in the middle of the event loop.

/// The message that asks for a session with that time-out.
std::string session_wish(std::chrono::milliseconds timeout);

/// As many bytes of the answer say what was granted.
constexpr std::size_t session_answer_size = 20;

/// The time-out that was granted; nothing if there is no session.
std::optional<std::chrono::milliseconds> granted_timeout(std::string_view answer);

/// The message that ends the session of a connection. The server then closes it.
std::string session_end();

}  // namespace mortise::store_detail

#endif
