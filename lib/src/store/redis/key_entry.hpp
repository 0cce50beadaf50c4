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

/// A request or a grant of this session in the single-key form; only this client knows it.
struct key_entry {
    enum class stage : std::uint8_t {
        asking,   ///< Its first attempt is not answered yet.
        waiting,  ///< Stands in the line of its lock.
        held,
        leaving,  ///< Its release has begun.
    };

    key_entry() = default;

    std::string name;
    stage at = stage::asking;
    fencing_token token;  ///< Set while it is held.
    clock::time_point since;
    bool contended = false;
    bool maybe_set = false;   ///< The key may hold the value of this request.
    std::uint64_t drawn = 0;  ///< How many blocks of marks were drawn for it.
};

/// The requests of this session that wait for the same lock. Only the first of them tries.
struct key_line {
    key_line() = default;

    std::deque<request_id> ids;
    bool trying = false;
    clock::time_point not_before;  ///< No attempt before this time: others come first.
    bool again = false;            ///< The lock may be free since the present attempt began.
    alarm deadline;                ///< Fires when the holder's key has expired.
};

}  // namespace mortise::store_detail

#endif
