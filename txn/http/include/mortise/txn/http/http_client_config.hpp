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

/// Where a peer is, how to be let in there, and the limits of the connections to it.
class http_client_config {
public:
    http_client_config() = default;  // declared: no aggregate (docs/compilers.md, G3)
    explicit http_client_config(std::string at) : url(std::move(at)) {}

    /// `https://host:port/path`, or `http://` without TLS. Nothing else is ever called: no redirect
    /// is followed. The name is looked up for every new connection.
    std::string url;

    /// Whom to trust (PEM), for `https://`; empty: the authorities that the system trusts. The
    /// server's certificate has to name the host of the URL. Files are read once, at the start.
    std::filesystem::path ca_file;
    std::filesystem::path certificate_file;  ///< Our own (PEM), if the server asks for one,
    std::filesystem::path key_file;          ///< with its key (PEM, without a password).

    /// Sent with every request (`Authorization: Bearer TOKEN`), if it is not empty. It is never
    /// shown. Without `https://` it goes over the wire as it is.
    std::string token;
    /// Or the file whose only line it is. It is read once, at the start.
    std::filesystem::path token_file;

    /// Sent with every request as well, for whoever stands between: up to 64 names and values. The
    /// values are visible ASCII and never shown. Names that begin with `mortise-` are taken, as are
    /// those that say how long a message is and what becomes of its connection.
    std::vector<std::pair<std::string, std::string>> headers;

    /// Connections at the same time: 1 to 10,000. Calls above that wait for their turn.
    std::size_t connections_max = 64;

    /// A connection that was not used for so long is not used again: up to one day.
    std::chrono::milliseconds idle_max{30'000};

    /// Bytes of an answer's header, and of its body: 1 KiB to 64 MiB.
    std::size_t header_max = 16u << 10;
    std::size_t body_max = 1u << 20;

    /// Where time comes from; null: the real time.
    std::shared_ptr<coro::time_source> time;
};

}  // namespace mortise::txn

#endif
