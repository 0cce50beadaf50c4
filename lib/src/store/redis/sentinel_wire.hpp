// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_SENTINEL_WIRE_HPP
#define MORTISE_STORE_REDIS_SENTINEL_WIRE_HPP

#include "store/redis/boost_wire.hpp"

#include <memory>
#include <string>
#include <vector>

namespace mortise::store_detail {

/// Who knows which server is the primary.
struct sentinel_settings {
    sentinel_settings() = default;

    std::vector<wire_settings> sentinels;
    std::string primary_name;
    wire_settings server;  ///< But for host and port, which the sentinels tell.
};

/// A wire to the server that the sentinels name as the primary when it is opened. They are asked in
/// turn, and the first who knows it is believed; a server that is no primary refuses by itself.
std::shared_ptr<redis_wire>
make_sentinel_wire(const boost::asio::any_io_executor& strand, sentinel_settings settings);

}  // namespace mortise::store_detail

#endif
