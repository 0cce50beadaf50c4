// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_STREAM_TLS_CONTEXT_HPP
#define MORTISE_TXN_HTTP_SRC_STREAM_TLS_CONTEXT_HPP

#include "mortise/txn/http/http_client_config.hpp"
#include "mortise/txn/http/http_server_config.hpp"

#include <memory>

namespace boost::asio::ssl {
class context;
}

namespace mortise::txn::http {

namespace asio = boost::asio;

/// Makes the TLS context of a client's connections; null if `wanted` is false.
/// @throws error (`bad_config`) that names a file that cannot be used, or a setting that has no
///         effect.
std::shared_ptr<asio::ssl::context> make_tls(const http_client_config& config, bool wanted);

/// Makes the TLS context of a server's connections; null if it has no certificate.
/// @throws error (`bad_config`), in the same way.
std::shared_ptr<asio::ssl::context> make_tls(const http_server_config& config);

}  // namespace mortise::txn::http

#endif
