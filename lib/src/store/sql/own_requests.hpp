// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQL_OWN_REQUESTS_HPP
#define MORTISE_STORE_SQL_OWN_REQUESTS_HPP

#include "mortise/store_types.hpp"
#include "store/sql/sql_gateway.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace mortise::store_detail {

/// What the link believes that its session has asked for: enough to choose a way. A wrong belief
/// costs a message, with one exception: a request that is sent a second time must not go the short
/// way, which would make a second entry of it. So every request is noted before it is sent, and
/// until it is known to be gone.
class own_requests {
public:
    struct record {
        record() = default;

        bool under_way = false;  ///< Its answer is awaited.
        bool contended = false;  ///< Granted, and another session waits.
        bool passed_on = false;  ///< Granted by a hand-over.
        bool plain = true;       ///< May go the short way.
        /// Of a waiter that joined by the short way; zero: unknown, or granted.
        std::uint64_t ordinal = 0;
    };

    /// The record of a request, which is added if it is new.
    record& note(request_id id) { return by_id_[id]; }
    /// Null if there is none.
    const record* find(request_id id) const;
    void erase(request_id id) { by_id_.erase(id); }

    /// Drops what the server does not have, and learns the rest.
    void learn(const session_view& view);
    void hear(const sql_push& push);
    void clear() noexcept { by_id_.clear(); }

private:
    std::map<request_id, record> by_id_;
};

}  // namespace mortise::store_detail

#endif
