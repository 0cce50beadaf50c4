// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_CLIENT_HOST_LOOK_UP_HPP
#define MORTISE_TXN_HTTP_SRC_CLIENT_HOST_LOOK_UP_HPP

#include "mortise/coro/event.hpp"
#include "mortise/coro/worker.hpp"
#include "mortise/error.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace mortise::txn::http {

namespace asio = boost::asio;

/// One look-up of a host's name, on a thread of its own. It cannot be stopped, only abandoned, and
/// all of Asio's resolvers in one context wait for the same thread. With this class, a slow look-up
/// holds up only those who asked for its name.
///
/// @par Threads   One strand.
class host_look_up {
public:
    using endpoints = std::vector<asio::ip::tcp::endpoint>;

    explicit host_look_up(const asio::any_io_executor& strand);

    /// Blocks. @return at least one address, or an error.
    static result<endpoints> resolve(const std::string& host, std::uint16_t port);

    coro::event ready;
    error_code failed;
    coro::worker thread;
};

}  // namespace mortise::txn::http

#endif
