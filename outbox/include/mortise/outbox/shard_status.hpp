// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SHARD_STATUS_HPP
#define MORTISE_OUTBOX_SHARD_STATUS_HPP

#include "mortise/error.hpp"
#include "mortise/outbox/mark.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace mortise::outbox {

/// The state of a shard at a relay, and its counters since the construction of the relay.
class shard_status {
public:
    enum class state : std::uint8_t {
        standby,  ///< Another relay has it, as far as is known.
        waiting,  ///< Earlier shards are sent first, after a change of their number.
        opening,  ///< The sink is not open, or not open again.
        sending,  ///< There is something to send.
        idle,     ///< Everything is sent.
        refused,  ///< An operator must decide: `trouble`, `text`.
        done,     ///< It is empty for ever.
    };

    shard_status() = default;  // declared: no aggregate (docs/compilers.md, G3)

    std::uint32_t shard = 0;
    state at = state::standby;
    mark last;                   ///< The newest mark that is known.
    std::uint64_t messages = 0;  ///< Sent.
    std::uint64_t batches = 0;   ///< Batches sent, except those with a mark only.
    std::uint64_t parked = 0;    ///< Rows that were parked.
    std::uint64_t purged = 0;    ///< Rows that were purged.
    std::uint64_t writes = 0;    ///< Write transactions on the database.
    std::uint64_t purges = 0;    ///< Those of them that purged rows.
    error_code trouble;          ///< The last failure; none if an operation succeeded after it.
    std::string text;
};

std::string_view to_string(shard_status::state state) noexcept;

}  // namespace mortise::outbox

#endif
