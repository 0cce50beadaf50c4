// SPDX-License-Identifier: BSL-1.0
#include "mortise/detail/tls.hpp"

#include "mortise/error.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/context.hpp>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <new>

namespace mortise::detail {
namespace {

using asio::ssl::context;
using std::filesystem::path;

void check(const error_code& failed, const path& file) {
    if (!failed)
        return;
    throw error(
        errc::bad_config,
        (file.empty() ? "the authorities of the system" : file.string()) + ": " + failed.message(),
        "name PEM files that can be read, and the key that belongs to the certificate"
    );
}

void forbid_old_versions(context& into) {
    into.set_options(
        context::default_workarounds | context::no_sslv2 | context::no_sslv3 | context::no_tlsv1 |
        context::no_tlsv1_1
    );
    ::SSL_CTX_set_options(into.native_handle(), SSL_OP_NO_RENEGOTIATION);
}

void prove_identity(context& into, const tls_files& files) {
    if (files.certificate.empty())
        return;
    error_code failed;
    // OpenSSL would ask at the terminal for the password of a key that has one.
    into.set_password_callback([](std::size_t, context::password_purpose) { return std::string(); }
    );
    into.use_certificate_chain_file(files.certificate.string(), failed);
    check(failed, files.certificate);
    into.use_private_key_file(files.key.string(), context::pem, failed);
    check(failed, files.key);
}

}  // namespace

void prepare_client_tls(context& into, const tls_files& files) {
    forbid_old_versions(into);
    into.set_verify_mode(asio::ssl::verify_peer);
    error_code failed;
    if (files.ca.empty())
        into.set_default_verify_paths(failed);
    else
        into.load_verify_file(files.ca.string(), failed);
    check(failed, files.ca);
    prove_identity(into, files);
}

void prepare_server_tls(context& into, const tls_files& files) {
    forbid_old_versions(into);
    prove_identity(into, files);
    if (files.ca.empty())
        return;
    into.set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert);
    error_code failed;
    into.load_verify_file(files.ca.string(), failed);
    check(failed, files.ca);
    // Resume no session: that would not check the certificate again, which may be revoked
    // meanwhile, and OpenSSL refuses to resume a session of a context without a name.
    ::SSL_CTX_set_session_cache_mode(into.native_handle(), SSL_SESS_CACHE_OFF);
    ::SSL_CTX_set_options(into.native_handle(), SSL_OP_NO_TICKET);
}

void expect_host(ssl_st& connection, const std::string& host) {
    error_code no_address;
    asio::ip::make_address(host, no_address);
    bool set = false;
    if (no_address) {
        ::SSL_set_hostflags(&connection, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
        set = ::SSL_set1_host(&connection, host.c_str()) == 1 &&
              ::SSL_set_tlsext_host_name(&connection, host.c_str()) == 1;
    } else {
        auto* const parameters = ::SSL_get0_param(&connection);
        set = ::X509_VERIFY_PARAM_set1_ip_asc(parameters, host.c_str()) == 1;
    }
    if (!set)  // else the client would take any server for this one
        throw std::bad_alloc();
}

}  // namespace mortise::detail
