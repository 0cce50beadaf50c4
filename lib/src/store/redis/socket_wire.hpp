// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_SOCKET_WIRE_HPP
#define MORTISE_STORE_REDIS_SOCKET_WIRE_HPP

#include "store/redis/greeting.hpp"
#include "store/redis/redis_wire.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <memory>

namespace mortise::store_detail {

/// Makes a wire over TCP, TLS or a Unix socket. It does not connect before `open`.
std::shared_ptr<redis_wire>
make_socket_wire(const boost::asio::any_io_executor& strand, wire_settings settings);

}  // namespace mortise::store_detail

#endif
