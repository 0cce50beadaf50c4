// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_HTTP_SERVER_STATS_HPP
#define MORTISE_TXN_HTTP_HTTP_SERVER_STATS_HPP

#include <cstdint>

namespace mortise::txn {

/// Counters of a server, from its start.
struct http_server_stats {
    std::uint64_t connections = 0;        ///< That were accepted.
    std::uint64_t handshakes_failed = 0;  ///< No TLS, no certificate that is trusted, too slow.
    std::uint64_t requests = 0;           ///< That were read completely.
    std::uint64_t denied = 0;             ///< Of those: answered 401, for want of a token.
};

}  // namespace mortise::txn

#endif
