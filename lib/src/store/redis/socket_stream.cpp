// SPDX-License-Identifier: BSL-1.0
#include "store/redis/socket_stream.hpp"

#include "mortise/coro/detail/with_code.hpp"
#include "mortise/detail/tls.hpp"

#include <boost/asio/cancel_after.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/error.hpp>

#include <cerrno>
#include <exception>
#include <string>
#include <tuple>

namespace mortise::store_detail {
namespace {

redis_failure failed_step(std::string_view step, const error_code& failed, errc meaning) {
    return {meaning, std::string(step) + ": " + failed.message()};
}

errc meaning_of_connecting(const error_code& failed) noexcept {
    const bool no_descriptor = failed.category() == boost::system::system_category() &&
                               (failed.value() == EMFILE || failed.value() == ENFILE);
    return no_descriptor ? errc::too_many_files : errc::store_unavailable;
}

}  // namespace

socket_stream::socket_stream(const asio::any_io_executor& strand, const wire_settings& settings)
    : settings_(settings), strand_(strand), name_(strand), socket_(strand) {}

asio::awaitable<redis_failure> socket_stream::connect() {
    // First of all, whether a descriptor is left: the look-up of a name would not say so.
    error_code failed;
    socket_.open(asio::ip::tcp::v4(), failed);
    if (meaning_of_connecting(failed) == errc::too_many_files)
        co_return failed_step("connecting", failed, errc::too_many_files);
    std::vector<endpoint> places;
    auto finding = find(places);
    auto failure = co_await std::move(finding);
    if (!failure.code) {
        auto reaching = reach(places);
        failure = co_await std::move(reaching);
    }
    if (!failure.code && settings_.tls) {
        auto shaking = shake_hands();
        failure = co_await std::move(shaking);
    }
    if (closed_)
        co_return redis_failure(errc::store_unavailable, "closed");
    co_return failure;
}

asio::awaitable<redis_failure> socket_stream::find(std::vector<endpoint>& places) {
    if (!settings_.socket.empty()) {
        places.emplace_back(asio::local::stream_protocol::endpoint(settings_.socket.string()));
        co_return redis_failure();
    }
    auto looking = name_.find(settings_.host, settings_.connect_max);
    const auto found = co_await std::move(looking);
    if (!found)
        co_return failed_step("the name of the host", found.error(), errc::store_unavailable);
    for (const auto& each : *found)
        places.emplace_back(asio::ip::tcp::endpoint(each, settings_.port));
    co_return redis_failure();
}

// Tries one place after the other, each for its share of the time: the first one may be a host that
// has vanished.
asio::awaitable<redis_failure> socket_stream::reach(const std::vector<endpoint>& places) {
    error_code failed = asio::error::host_not_found;
    for (const auto& each : places) {
        if (closed_)
            co_return redis_failure();
        socket_.close(failed);
        socket_.open(each.protocol(), failed);
        if (failed)
            break;
        const auto share = settings_.connect_max / static_cast<int>(places.size());
        auto connecting =
            socket_.async_connect(each, asio::cancel_after(share, coro::detail::with_code));
        const auto connected = co_await std::move(connecting);
        failed = std::get<0>(connected);
        if (!failed)
            socket_.remote_endpoint(failed);  // A Unix socket with too many in its queue has none.
        if (!failed)
            break;
        if (failed == asio::error::operation_aborted)
            failed = asio::error::timed_out;
    }
    if (failed)
        co_return failed_step("connecting", failed, meaning_of_connecting(failed));
    error_code ignored;
    if (settings_.socket.empty())  // A command is small, and somebody waits for its reply.
        socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
    socket_.non_blocking(true, ignored);
    co_return redis_failure();
}

// Checks the certificate against the name of the host: otherwise any server with a certificate of
// the same authority would be trusted.
asio::awaitable<redis_failure> socket_stream::shake_hands() {
    tls_context_.emplace(asio::ssl::context::tls_client);
    mortise::detail::tls_files files;
    files.ca = settings_.ca_file;
    files.certificate = settings_.certificate_file;
    files.key = settings_.key_file;
    const std::string& name = settings_.tls_name.empty() ? settings_.host : settings_.tls_name;
    try {
        mortise::detail::prepare_client_tls(*tls_context_, files);
        tls_.emplace(socket_, *tls_context_);
        mortise::detail::expect_host(*tls_->native_handle(), name);
    } catch (const error& wrong) {
        co_return redis_failure(errc::bad_config, wrong.value());
    } catch (const std::exception& wrong) {
        co_return redis_failure(errc::bad_config, "TLS for " + name + ": " + wrong.what());
    }
    auto shaking = tls_->async_handshake(asio::ssl::stream_base::client, coro::detail::with_code);
    const auto shaken = co_await std::move(shaking);
    const auto& failed = std::get<0>(shaken);
    if (!failed)
        co_return redis_failure();
    const bool judged = failed.category() == asio::error::get_ssl_category();
    co_return failed_step(
        "the TLS handshake", failed, judged ? errc::untrusted_server : errc::store_unavailable
    );
}

void socket_stream::close() noexcept {
    closed_ = true;
    name_.give_up();
    error_code ignored;
    socket_.close(ignored);
}

std::size_t socket_stream::write_now(std::string_view bytes) noexcept {
    if (tls_ || closed_)
        return 0;
    error_code ignored;  // Whatever it is, the reading finds it, too.
    return socket_.write_some(asio::buffer(bytes.data(), bytes.size()), ignored);
}

}  // namespace mortise::store_detail
