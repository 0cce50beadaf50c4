// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DETAIL_TLS_HPP
#define MORTISE_DETAIL_TLS_HPP

#include "mortise/coro/fwd.hpp"

#include <filesystem>
#include <string>

namespace boost::asio::ssl {
class context;
}
struct ssl_st;

namespace mortise::detail {

namespace asio = boost::asio;

/// The PEM files of one end of a TLS connection.
class tls_files {
public:
    tls_files() = default;

    std::filesystem::path ca;           ///< The authorities to trust.
    std::filesystem::path certificate;  ///< Our own, with those between it and its authority,
    std::filesystem::path key;          ///< and its key, without a password.
};

/// Sets up a client: TLS 1.2 or newer, and only with a server whose certificate is trusted. Without
/// `ca` the client trusts the authorities that the system trusts.
/// @throws error (`bad_config`) that names the file that cannot be used, and says why.
void prepare_client_tls(asio::ssl::context& into, const tls_files& files);

/// Sets up a server: TLS 1.2 or newer. With `ca`, each client must have a certificate by it.
/// @throws error (`bad_config`) that names the file that cannot be used, and says why.
void prepare_server_tls(asio::ssl::context& into, const tls_files& files);

/// Demands that the server's certificate names `host`, which is a name or an address. Call it
/// before the handshake of a client.
/// @throws std::bad_alloc
void expect_host(ssl_st& connection, const std::string& host);

}  // namespace mortise::detail

#endif
