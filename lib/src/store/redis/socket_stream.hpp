// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_SOCKET_STREAM_HPP
#define MORTISE_STORE_REDIS_SOCKET_STREAM_HPP

#include "base/name_lookup.hpp"
#include "store/redis/greeting.hpp"
#include "store/redis/redis_failure.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::store_detail {

/// A connection of bytes to a server: TCP, with TLS or without, or a Unix socket.
///
/// @par Threads One strand.
class socket_stream {
public:
    /// `settings` must outlive this object.
    socket_stream(const asio::any_io_executor& strand, const wire_settings& settings);

    /// Connects, once. Ends soon after `close`.
    /// @return no code, or which step failed.
    asio::awaitable<redis_failure> connect();
    void close() noexcept;

    /// Writes what the kernel takes at once. @return so many bytes; zero with TLS.
    std::size_t write_now(std::string_view bytes) noexcept;

    /// Writes all of it, and reads some: `handler(error_code, size)`.
    template <class Handler>
    void async_write(std::string_view bytes, Handler handler) {
        const auto from = asio::buffer(bytes.data(), bytes.size());
        if (tls_)
            asio::async_write(*tls_, from, std::move(handler));
        else
            asio::async_write(socket_, from, std::move(handler));
    }
    template <class Handler>
    void async_read_some(asio::mutable_buffer into, Handler handler) {
        if (tls_)
            tls_->async_read_some(into, std::move(handler));
        else
            socket_.async_read_some(into, std::move(handler));
    }

private:
    using socket_type = asio::generic::stream_protocol::socket;
    using endpoint = asio::generic::stream_protocol::endpoint;

    asio::awaitable<redis_failure> find(std::vector<endpoint>& places);
    asio::awaitable<redis_failure> reach(const std::vector<endpoint>& places);
    asio::awaitable<redis_failure> shake_hands();

    const wire_settings& settings_;
    const asio::any_io_executor strand_;
    mortise::detail::name_lookup name_;
    std::optional<asio::ssl::context> tls_context_;
    socket_type socket_;
    std::optional<asio::ssl::stream<socket_type&>> tls_;
    bool closed_ = false;
};

}  // namespace mortise::store_detail

#endif
