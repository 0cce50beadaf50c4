// SPDX-License-Identifier: BSL-1.0
// The only file here that uses OpenSSL's connections; their contexts are made elsewhere.
#include "stream/byte_stream.hpp"

#include "mortise/coro/detail/with_code.hpp"
#include "mortise/detail/require.hpp"
#include "mortise/detail/tls.hpp"
#include "mortise/txn/error.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace mortise::txn::http {
namespace {

using asio::ssl::context;
using coro::detail::with_code;
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
    auto tls = std::make_shared<context>(context::tls_client);
    prepare_client_tls(*tls, files);
    return tls;
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
    auto tls = std::make_shared<context>(context::tls_server);
    prepare_server_tls(*tls, files);
    return tls;
}

namespace {

// Whether an error is the peer's alert about our certificate: RFC 8446, section 6.2.
bool refuses_certificate(const error_code& failed) noexcept {
    constexpr int alerts[] = {
        SSL_AD_BAD_CERTIFICATE,
        SSL_AD_UNSUPPORTED_CERTIFICATE,
        SSL_AD_CERTIFICATE_REVOKED,
        SSL_AD_CERTIFICATE_EXPIRED,
        SSL_AD_CERTIFICATE_UNKNOWN,
        SSL_AD_UNKNOWN_CA,
        SSL_AD_ACCESS_DENIED,
        116,  // certificate_required: OpenSSL has a name for it only since 1.1.1
    };
    const int reason = ERR_GET_REASON(static_cast<unsigned long>(failed.value()));
    for (const int each : alerts) {
        if (reason == SSL_AD_REASON_OFFSET + each)
            return true;
    }
    return false;
}

// Converts an error. A truncated TLS stream counts as its end: an HTTP message says how long it is,
// so the end of a connection need not be proved.
error_code meaning_of(const error_code& failed) noexcept {
    if (failed == asio::ssl::error::stream_truncated)
        return asio::error::eof;
    if (failed.category() != asio::error::get_ssl_category())
        return failed;
    return refuses_certificate(failed) ? error_code(mortise::errc::access_denied)
                                       : error_code(errc::call_failed);
}

}  // namespace

class byte_stream::tls_layer {
public:
    tls_layer(tcp::socket& over, asio::ssl::context& tls) : stream(over, tls) {}

    asio::ssl::stream<tcp::socket&> stream;
};

byte_stream::byte_stream(tcp::socket over) : socket_(std::move(over)) {}

byte_stream::~byte_stream() = default;

asio::awaitable<error_code>
byte_stream::greet(asio::ssl::context& tls, const std::string& host, std::string& why) {
    tls_ = std::make_unique<tls_layer>(socket_, tls);
    auto& stream = tls_->stream;
    mortise::detail::expect_host(*stream.native_handle(), host);
    const auto ended = co_await stream.async_handshake(asio::ssl::stream_base::client, with_code);
    const error_code failed = std::get<0>(ended);
    if (!failed)
        co_return failed;
    const long verdict = ::SSL_get_verify_result(stream.native_handle());
    if (failed.category() == asio::error::get_ssl_category() && verdict != X509_V_OK) {
        why = "the server's certificate: ";
        why += ::X509_verify_cert_error_string(verdict);
        co_return error_code(mortise::errc::untrusted_server);
    }
    why = "the TLS handshake: " + failed.message();
    co_return meaning_of(failed);
}

asio::awaitable<error_code> byte_stream::be_greeted(asio::ssl::context& tls) {
    tls_ = std::make_unique<tls_layer>(socket_, tls);
    const auto ended =
        co_await tls_->stream.async_handshake(asio::ssl::stream_base::server, with_code);
    co_return meaning_of(std::get<0>(ended));
}

asio::awaitable<result<std::size_t>> byte_stream::read_some(asio::mutable_buffer into) {
    error_code failed;
    std::size_t size = 0;
    if (tls_) {
        const auto received = co_await tls_->stream.async_read_some(into, with_code);
        failed = meaning_of(std::get<0>(received));
        size = std::get<1>(received);
    } else {
        const auto received = co_await socket_.async_read_some(into, with_code);
        failed = std::get<0>(received);
        size = std::get<1>(received);
    }
    if (failed)
        co_return failed;
    co_return size;
}

asio::awaitable<error_code> byte_stream::write(asio::const_buffer from) {
    if (tls_) {
        const auto sent = co_await asio::async_write(tls_->stream, from, with_code);
        co_return meaning_of(std::get<0>(sent));
    }
    const auto sent = co_await asio::async_write(socket_, from, with_code);
    co_return std::get<0>(sent);
}

asio::awaitable<void> byte_stream::say_end() {
    if (!tls_)
        co_return;
    // Send our end without waiting for the peer's, which `async_shutdown` alone would do.
    ::SSL_set_shutdown(tls_->stream.native_handle(), SSL_RECEIVED_SHUTDOWN);
    const auto ended = co_await tls_->stream.async_shutdown(with_code);
    static_cast<void>(ended);
}

// Nobody sends bytes here without a request, so any byte or end means that the connection is over.
bool byte_stream::is_quiet() {
    if (tls_ && ::SSL_has_pending(tls_->stream.native_handle()) != 0)
        return false;
    char byte = 0;
    const auto seen = ::recv(socket_.native_handle(), &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT);
    return seen < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

}  // namespace mortise::txn::http
