// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_RESOURCE_LINK_HPP
#define MORTISE_TESTS_STORM_RESOURCE_LINK_HPP

#include "storm/resource_message.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/local/stream_protocol.hpp>

namespace mortise::storm {

namespace asio = boost::asio;

/// One coroutine's way to the resources.
class resource_link {
public:
    /// Takes the descriptor over.
    resource_link(const asio::any_io_executor& executor, int fd);

    /// @return the message with what became of it.
    /// @throws boost::system::system_error if nobody answers.
    asio::awaitable<resource_message> ask(resource_message message);

private:
    asio::local::stream_protocol::socket socket_;
};

}  // namespace mortise::storm

#endif
