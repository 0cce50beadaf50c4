// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_DEAF_WIRE_EVENTS_HPP
#define MORTISE_STORE_REDIS_DEAF_WIRE_EVENTS_HPP

#include "store/redis/redis_wire.hpp"

namespace mortise::store_detail {

/// Ignores all events, for a wire that is only asked.
class deaf_wire_events final : public redis_wire_events {
    void on_push(redis_value) noexcept override {}
    bool listens() const noexcept override { return false; }
    void on_closed(redis_failure) noexcept override {}
};

}  // namespace mortise::store_detail

#endif
