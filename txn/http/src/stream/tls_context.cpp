// SPDX-License-Identifier: BSL-1.0
#include "stream/tls_context.hpp"

#include "mortise/detail/require.hpp"
#include "mortise/detail/tls.hpp"

#include <boost/asio/ssl/context.hpp>

namespace mortise::txn::http {
namespace {

using asio::ssl::context;
using mortise::detail::require;

template <class Config>
mortise::detail::tls_files identity_of(const Config& config) {
    require(
        config.certificate_file.empty() == config.key_file.empty(),
        "certificate_file, key_file",
        "name both, or neither"
    );
    mortise::detail::tls_files files;
    files.certificate = config.certificate_file;
    files.key = config.key_file;
    return files;
}

}  // namespace

std::shared_ptr<context> make_tls(const http_client_config& config, bool wanted) {
    auto files = identity_of(config);
    files.ca = config.ca_file;
    require(
        wanted || (files.ca.empty() && files.certificate.empty()),
        "ca_file, certificate_file",
        "name files for TLS only with a URL that begins with https://"
    );
    if (!wanted)
        return nullptr;
    auto made = std::make_shared<context>(context::tls_client);
    prepare_client_tls(*made, files);
    return made;
}

std::shared_ptr<context> make_tls(const http_server_config& config) {
    auto files = identity_of(config);
    files.ca = config.client_ca_file;
    require(
        files.ca.empty() || !files.certificate.empty(),
        "client_ca_file",
        "give the server a certificate of its own (certificate_file, key_file)"
    );
    if (files.certificate.empty())
        return nullptr;
    auto made = std::make_shared<context>(context::tls_server);
    prepare_server_tls(*made, files);
    return made;
}

}  // namespace mortise::txn::http
