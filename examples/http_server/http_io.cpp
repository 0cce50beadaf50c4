// SPDX-License-Identifier: BSL-1.0
#include "http_server/http_io.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/serializer.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace http_server {
namespace {

using boost::system::error_code;
using boost::system::system_error;

constexpr std::chrono::seconds silence_max{30};
constexpr std::size_t read_bytes = 4'096;

/// Feeds the received bytes to Beast's parser.
/// @return whether the message is complete.
template <bool IsRequest>
bool feed(http::parser<IsRequest, http::string_body>& parser, boost::beast::flat_buffer& buffer) {
    if (buffer.size() == 0)
        return false;
    error_code code;
    buffer.consume(parser.put(buffer.data(), code));
    if (code && code != http::error::need_more)
        throw system_error(code);
    return parser.is_done();
}

template <bool IsRequest>
asio::awaitable<std::optional<http::message<IsRequest, http::string_body>>>
read_message(tcp::socket& socket, boost::beast::flat_buffer& buffer) {
    http::parser<IsRequest, http::string_body> parser;
    parser.eager(true);  // parses header and body in one pass
    parser.header_limit(header_bytes_max);
    parser.body_limit(body_bytes_max);
    while (!feed(parser, buffer)) {
        const auto arrived = co_await socket.async_read_some(
            buffer.prepare(read_bytes),
            asio::cancel_after(silence_max, asio::as_tuple(asio::deferred))
        );
        const auto& [code, size] = arrived;
        if (code == asio::error::eof && !parser.got_some())
            co_return std::nullopt;
        if (code)
            throw system_error(code);
        buffer.commit(size);
    }
    co_return parser.release();
}

/// The bytes of a message, from Beast's serializer. Our messages are short: one string holds them.
template <bool IsRequest>
std::string bytes_of(http::message<IsRequest, http::string_body>& message) {
    message.prepare_payload();
    http::serializer<IsRequest, http::string_body> serializer(message);
    std::string text;
    while (!serializer.is_done()) {
        error_code code;
        std::size_t size = 0;
        serializer.next(code, [&](error_code&, const auto& buffers) {
            for (const auto part : boost::beast::buffers_range_ref(buffers)) {
                text.append(static_cast<const char*>(part.data()), part.size());
                size += part.size();
            }
        });
        if (code)
            throw system_error(code);
        serializer.consume(size);
    }
    return text;
}

asio::awaitable<void> write_bytes(tcp::socket& socket, std::string text) {
    co_await asio::async_write(
        socket, asio::buffer(text), asio::cancel_after(silence_max, asio::deferred)
    );
}

}  // namespace

asio::awaitable<std::optional<request>>
read_request(tcp::socket& socket, boost::beast::flat_buffer& buffer) {
    return read_message<true>(socket, buffer);
}

asio::awaitable<std::optional<response>>
read_response(tcp::socket& socket, boost::beast::flat_buffer& buffer) {
    return read_message<false>(socket, buffer);
}

asio::awaitable<void> write_request(tcp::socket& socket, request& message) {
    return write_bytes(socket, bytes_of(message));
}

asio::awaitable<void> write_response(tcp::socket& socket, response& message) {
    return write_bytes(socket, bytes_of(message));
}

}  // namespace http_server
