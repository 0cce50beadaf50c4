// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_HTTP_SERVER_CONFIG_HPP
#define MORTISE_TXN_HTTP_HTTP_SERVER_CONFIG_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace mortise::coro {
class time_source;
}

namespace mortise::txn {

/// Where a server listens, and its limits.
class http_server_config {
public:
    http_server_config() = default;  // declared: no aggregate (docs/compilers.md, G3)

    /// An address of this host, as numbers: nobody else can connect to the usual one.
    std::string address = "127.0.0.1";
    /// Zero: any that is free, see `port()` of the server.
    std::uint16_t port = 0;

    /// The server's certificate, with those between it and its authority (PEM): then it speaks TLS
    /// 1.2 or newer, and nothing else. Files are read once, when the server is made.
    std::filesystem::path certificate_file;
    std::filesystem::path key_file;  ///< The key that belongs to it (PEM, without a password).
    /// Authorities (PEM): only clients with a certificate by one of them can connect. Needs TLS.
    std::filesystem::path client_ca_file;

    /// 1 to 100,000. Whoever comes then takes the place of the connection that has been idle, or in
    /// its TLS handshake, for longest, or waits until there is one.
    std::size_t connections_max = 1'024;

    /// Bytes of a request's header, and of its body: 1 KiB to 64 MiB.
    std::size_t header_max = 64u << 10;
    std::size_t body_max = 1u << 20;

    // From one millisecond to one day, each:
    std::chrono::milliseconds handshake_max{5'000};  ///< Of TLS, from the connection on.
    std::chrono::milliseconds idle_max{60'000};      ///< Until the next request begins.
    std::chrono::milliseconds read_max{10'000};      ///< From its first byte to its last.
    std::chrono::milliseconds write_max{10'000};     ///< Until the client has taken the answer.
    /// How long calls may take to end when the server is stopped, before they are cancelled.
    std::chrono::milliseconds grace{5'000};

    /// Where time comes from; null: the real time.
    std::shared_ptr<coro::time_source> time;
};

}  // namespace mortise::txn

#endif
