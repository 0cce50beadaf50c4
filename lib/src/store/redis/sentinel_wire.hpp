// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_SENTINEL_WIRE_HPP
#define MORTISE_STORE_REDIS_SENTINEL_WIRE_HPP

#include "store/redis/sentinel_circle.hpp"

#include <memory>
#include <string>
#include <vector>

namespace mortise::store_detail {

/// The sentinels that know the primary, and how to connect to it.
struct sentinel_settings {
    sentinel_settings() = default;

    std::vector<wire_settings> sentinels;
    std::string primary_name;
    wire_settings server;  ///< Without host and port, which the sentinels tell.
    /// The newest answer of the sentinels, shared by all wires of a store; used when no sentinel
    /// can be reached.
    std::shared_ptr<named_primary> remembered;
};

/// Makes a wire to the server that most sentinels name as the primary when it is opened; a server
/// that is not the primary refuses by itself. If the owner of the wire listens, so does the wire at
/// the sentinels: it closes when they name another server.
std::shared_ptr<redis_wire>
make_sentinel_wire(const boost::asio::any_io_executor& strand, sentinel_settings settings);

}  // namespace mortise::store_detail

#endif
