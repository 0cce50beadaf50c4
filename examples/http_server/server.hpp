// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_HTTP_SERVER_SERVER_HPP
#define MORTISE_EXAMPLES_HTTP_SERVER_SERVER_HPP

#include "http_server/handler.hpp"
#include "http_server/http_io.hpp"
#include "mortise/coro/task_scope.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/signal_set.hpp>

#include <set>

namespace http_server {

/// Accepts connections and answers their requests, until SIGTERM or SIGINT.
///
/// @par Threads One: that of the context.
class server {
public:
    /// Port zero means any free port; see `address`.
    /// @throws std::runtime_error if the port is taken.
    server(const asio::any_io_executor& executor, handler& behind, const tcp::endpoint& where);

    tcp::endpoint address() const { return acceptor_.local_endpoint(); }

    /// Serves until a signal comes. Then it accepts no more connections or requests, answers the
    /// requests it has received, and stops the handler, which releases every lock.
    asio::awaitable<void> run();

private:
    asio::awaitable<void> accept();
    asio::awaitable<void> serve(tcp::socket socket);
    asio::awaitable<void> converse(tcp::socket& socket);
    void stop();

    handler& handler_;
    tcp::acceptor acceptor_;
    asio::signal_set signals_;
    mortise::coro::task_scope connections_;
    std::set<tcp::socket*> open_;
    bool stopping_ = false;
};

}  // namespace http_server

#endif
