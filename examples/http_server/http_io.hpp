// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_HTTP_SERVER_HTTP_IO_HPP
#define MORTISE_EXAMPLES_HTTP_SERVER_HTTP_IO_HPP

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include <cstddef>
#include <optional>

namespace http_server {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using request = http::request<http::string_body>;
using response = http::response<http::string_body>;

/// What a peer may send before the connection is cut.
inline constexpr std::size_t header_bytes_max = 8'192;
inline constexpr std::size_t body_bytes_max = 16'384;  // a page of metrics
inline constexpr std::size_t buffer_bytes_max = 2 * (header_bytes_max + body_bytes_max);

/// The next message of a connection, or nothing if the peer has closed it. Later bytes stay in
/// `buffer`.
/// @throws boost::system::system_error if the message breaks the rules of HTTP or the limits above,
/// if the connection breaks, or if nothing comes for half a minute.
asio::awaitable<std::optional<request>>
read_request(tcp::socket& socket, boost::beast::flat_buffer& buffer);
asio::awaitable<std::optional<response>>
read_response(tcp::socket& socket, boost::beast::flat_buffer& buffer);

asio::awaitable<void> write_request(tcp::socket& socket, request& message);
asio::awaitable<void> write_response(tcp::socket& socket, response& message);

}  // namespace http_server

#endif
