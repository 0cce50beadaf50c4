// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_SENTINEL_WIRE_HPP
#define MORTISE_STORE_REDIS_SENTINEL_WIRE_HPP

#include "store/redis/sentinel_circle.hpp"

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
    /// What they said last, for all wires of a store: used when none of them can be reached.
    std::shared_ptr<named_primary> remembered;
};

/// A wire to the server that most sentinels name as the primary when it is opened; a server that is
/// none refuses by itself. If somebody listens at the wire, the sentinels are listened to, too: it
/// is closed when they name another server.
std::shared_ptr<redis_wire>
make_sentinel_wire(const boost::asio::any_io_executor& strand, sentinel_settings settings);

}  // namespace mortise::store_detail

#endif
