// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_HTTP_SERVER_STATS_HPP
#define MORTISE_TXN_HTTP_HTTP_SERVER_STATS_HPP

#include <cstdint>

namespace mortise::txn {

/// Counters of a server since its start.
struct http_server_stats {
    std::uint64_t connections = 0;        ///< Accepted connections.
    std::uint64_t handshakes_failed = 0;  ///< No TLS, no trusted certificate, or too slow.
    std::uint64_t requests = 0;           ///< Requests that were read completely.
    std::uint64_t denied = 0;             ///< Requests answered 401, for lack of a valid token.
};

}  // namespace mortise::txn

#endif
