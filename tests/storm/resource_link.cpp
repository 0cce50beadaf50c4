// SPDX-License-Identifier: BSL-1.0
#include "storm/resource_link.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

namespace mortise::storm {

resource_link::resource_link(const asio::any_io_executor& executor, int fd)
    : socket_(executor, asio::local::stream_protocol(), fd) {}

asio::awaitable<resource_message> resource_link::ask(resource_message message) {
    co_await asio::async_write(socket_, asio::buffer(&message, sizeof message), asio::deferred);
    co_await asio::async_read(socket_, asio::buffer(&message, sizeof message), asio::deferred);
    co_return message;
}

}  // namespace mortise::storm
