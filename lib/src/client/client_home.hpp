// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_CLIENT_HOME_HPP
#define MORTISE_CLIENT_CLIENT_HOME_HPP

#include "client/session_watch.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <memory>

namespace mortise::detail {

class client_core;

/// The parts of a client that its leases need, even when the client is gone.
struct client_home {
    std::shared_ptr<session_watch> session;
    std::weak_ptr<client_core> core;
    asio::any_io_executor executor;
};

}  // namespace mortise::detail

#endif
