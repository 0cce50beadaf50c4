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

    /// A numeric address of this host. Only this host can connect to the default one.
    std::string address = "127.0.0.1";
    /// Zero: any free port, see `port()` of the server.
    std::uint16_t port = 0;

    /// The server's certificate, followed by those between it and its authority (PEM). With one,
    /// the server speaks only TLS 1.2 or newer. Files are read once, when the server is made.
    std::filesystem::path certificate_file;
    std::filesystem::path key_file;  ///< The key of the certificate (PEM, without a password).
    /// Authorities (PEM): only clients with a certificate from one of them can connect. Needs TLS.
    std::filesystem::path client_ca_file;

    /// 1 to 100,000. When the limit is reached, a new connection takes the place of the one that
    /// has been idle, or in its TLS handshake, for longest. If there is none, it waits.
    std::size_t connections_max = 1'024;

    /// Bytes of a request's header, and of its body: 1 KiB to 64 MiB.
    std::size_t header_max = 64u << 10;
    std::size_t body_max = 1u << 20;

    // Each from one millisecond to one day:
    std::chrono::milliseconds handshake_max{5'000};  ///< Of TLS, since the connection was made.
    std::chrono::milliseconds idle_max{60'000};      ///< Until the next request begins.
    std::chrono::milliseconds read_max{10'000};      ///< From its first byte to its last.
    std::chrono::milliseconds write_max{10'000};     ///< Until the client has taken the answer.
    /// How long calls may take to end after a stop begins, before they are cancelled.
    std::chrono::milliseconds grace{5'000};

    /// The source of time; null: the real time.
    std::shared_ptr<coro::time_source> time;
};

}  // namespace mortise::txn

#endif
