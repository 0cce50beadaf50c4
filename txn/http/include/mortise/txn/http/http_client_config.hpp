// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_HTTP_CLIENT_CONFIG_HPP
#define MORTISE_TXN_HTTP_HTTP_CLIENT_CONFIG_HPP

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace mortise::coro {
class time_source;
}

namespace mortise::txn {

/// Where a peer is, and the limits of the connections to it.
class http_client_config {
public:
    http_client_config() = default;  // declared: no aggregate (docs/compilers.md, G3)
    explicit http_client_config(std::string at) : url(std::move(at)) {}

    /// `http://host:port/path`. Nothing else is ever called: no redirect is followed. The name is
    /// looked up for every new connection.
    std::string url;

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
