// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_CLIENT_HOST_LOOK_UP_HPP
#define MORTISE_TXN_HTTP_SRC_CLIENT_HOST_LOOK_UP_HPP

#include "mortise/error.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mortise::txn::http {

namespace asio = boost::asio;

/// Looks up the addresses of one host, each time on a thread of its own. A look-up cannot be
/// stopped, only abandoned, and all of Asio's resolvers in one context wait for the same thread.
/// With this class, a slow look-up holds up only those who asked for its name.
///
/// @par Threads   One strand.
class host_look_up : public std::enable_shared_from_this<host_look_up> {
public:
    using endpoints = std::vector<asio::ip::tcp::endpoint>;

    host_look_up(std::string host, std::uint16_t port);
    ~host_look_up();

    /// Finds the addresses. Uses the last known ones if the look-up is slow or fails.
    /// @throws system_error if none are known.
    asio::awaitable<endpoints> find(const asio::any_io_executor& strand);

    /// Lets go of the look-up under way, because the execution context is ending.
    void abandon() noexcept { under_way_.reset(); }

private:
    struct look_up;
    std::shared_ptr<look_up> join(const asio::any_io_executor& strand);

    const std::string host_;
    const std::uint16_t port_;
    std::shared_ptr<look_up> under_way_;
    endpoints known_;  ///< The addresses of the last look-up.
};

}  // namespace mortise::txn::http

#endif
