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

/// One look-up of a host's name, on a thread of its own: it cannot be stopped, only left alone, and
/// Asio's resolvers of one context all wait for the same thread. However long it takes, nobody
/// waits who has not asked for this name.
///
/// @par Threads   One strand.
class host_look_up {
public:
    using endpoints = std::vector<asio::ip::tcp::endpoint>;

    explicit host_look_up(const asio::any_io_executor& strand);

    /// Blocks. @return one address at least, or why there is none.
    static result<endpoints> resolve(const std::string& host, std::uint16_t port);

    coro::event ready;
    error_code failed;
    coro::worker thread;
};

}  // namespace mortise::txn::http

#endif
