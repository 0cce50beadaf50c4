// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_HTTP_CLIENT_CONFIG_HPP
#define MORTISE_TXN_HTTP_HTTP_CLIENT_CONFIG_HPP

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::coro {
class time_source;
}

namespace mortise::txn {

/// The URL of a peer, the credentials for it, and the limits of the connections to it.
class http_client_config {
public:
    http_client_config() = default;  // declared: no aggregate (docs/compilers.md, G3)
    explicit http_client_config(std::string at) : url(std::move(at)) {}

    /// `https://host:port/path`, or `http://` without TLS. The client calls nothing else: it
    /// follows no redirect. The name is looked up for every new connection.
    std::string url;

    /// The trusted authorities (PEM) for `https://`; empty: those of the system. The server's
    /// certificate must name the host of the URL. Files are read once, at the start.
    std::filesystem::path ca_file;
    std::filesystem::path certificate_file;  ///< Our own (PEM), if the server asks for one,
    std::filesystem::path key_file;          ///< with its key (PEM, without a password).

    /// Sent with every request (`Authorization: Bearer TOKEN`) unless empty. It is never shown.
    /// Without `https://` it travels in plain text.
    std::string token;
    /// Instead of `token`: a file whose only line is the token. It is read once, at the start.
    std::filesystem::path token_file;

    /// Further header fields of every request, for proxies between: up to 64 names and values.
    /// Values are visible ASCII and never shown. You cannot set names that begin with `mortise-`,
    /// nor those that control the length of a message or its connection.
    std::vector<std::pair<std::string, std::string>> headers;

    /// Simultaneous connections: 1 to 10,000. Calls above that wait for their turn.
    std::size_t connections_max = 64;

    /// A connection that was idle for longer is not used again: up to one day.
    std::chrono::milliseconds idle_max{30'000};

    /// Bytes of an answer's header, and of its body: 1 KiB to 64 MiB.
    std::size_t header_max = 16u << 10;
    std::size_t body_max = 1u << 20;

    /// The source of time; null: the real time.
    std::shared_ptr<coro::time_source> time;
};

}  // namespace mortise::txn

#endif
