// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_HTTP_SERVER_CUSTOMER_HPP
#define MORTISE_EXAMPLES_HTTP_SERVER_CUSTOMER_HPP

#include "http_server/http_io.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <string>

namespace http_server {

/// A connection to a server, kept alive from request to request.
class customer {
public:
    /// @throws boost::system::system_error if no server listens at `where`.
    customer(const asio::any_io_executor& executor, const tcp::endpoint& where);

    /// @throws std::runtime_error if the server does not answer.
    asio::awaitable<response> ask(request outgoing);
    asio::awaitable<response> ask(http::verb method, std::string target);

    /// Requests a page again and again until `hoped` accepts it.
    asio::awaitable<void>
    await_page(std::string target, std::function<bool(const std::string&)> hoped);

    /// Waits until the server closes the connection.
    asio::awaitable<void> hung_up();

private:
    tcp::socket socket_;
    boost::beast::flat_buffer buffer_;
};

/// The value of a counter on the metrics page.
/// @throws std::runtime_error if the counter is missing.
int counter_on(const std::string& page, const std::string& name);

}  // namespace http_server

#endif
