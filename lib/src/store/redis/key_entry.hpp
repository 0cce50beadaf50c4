// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_KEY_ENTRY_HPP
#define MORTISE_STORE_REDIS_KEY_ENTRY_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/alarm.hpp"
#include "mortise/store_types.hpp"

#include <cstdint>
#include <deque>
#include <string>

namespace mortise::store_detail {

using coro::detail::alarm;

/// A request or a grant of one's own session in the single-key form, which nobody else knows.
struct key_entry {
    enum class stage : std::uint8_t {
        asking,   ///< The first answer is awaited.
        waiting,  ///< In the line of its name.
        held,
        leaving,  ///< Its release was begun.
    };

    key_entry() = default;

    std::string name;
    stage at = stage::asking;
    fencing_token token;  ///< If it is held.
    clock::time_point since;
    bool contended = false;
    bool maybe_set = false;   ///< The key may have its value.
    std::uint64_t drawn = 0;  ///< How often marks were drawn.
};

/// Those requests of one's own session that wait for the same lock. Only the first of them tries.
struct key_line {
    key_line() = default;

    std::deque<request_id> ids;
    bool trying = false;
    clock::time_point not_before;  ///< Others were given way to until then.
    bool again = false;            ///< Something happened since the present attempt began.
    alarm deadline;                ///< When the holder's key has passed away.
};

}  // namespace mortise::store_detail

#endif
