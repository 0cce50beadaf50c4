// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_RESOURCE_LINK_HPP
#define MORTISE_TESTS_STORM_RESOURCE_LINK_HPP

#include "storm/resource_message.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/local/stream_protocol.hpp>

namespace mortise::storm {

namespace asio = boost::asio;

/// One coroutine's connection to the resources.
class resource_link {
public:
    /// Owns the descriptor.
    resource_link(const asio::any_io_executor& executor, int fd);

    /// @return the message with its result.
    /// @throws boost::system::system_error if there is no answer.
    asio::awaitable<resource_message> ask(resource_message message);

private:
    asio::local::stream_protocol::socket socket_;
};

}  // namespace mortise::storm

#endif
