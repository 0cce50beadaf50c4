// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SHARD_STATUS_HPP
#define MORTISE_OUTBOX_SHARD_STATUS_HPP

#include "mortise/error.hpp"
#include "mortise/outbox/mark.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace mortise::outbox {

/// What a relay does with a shard just now, and has done since it was made.
class shard_status {
public:
    enum class state : std::uint8_t {
        standby,  ///< Another relay has it, as far as is known.
        waiting,  ///< Shards of before their number changed are emptied first.
        opening,  ///< The sink is not open yet, or not open again.
        sending,  ///< There is something to send.
        idle,     ///< Everything is sent.
        refused,  ///< An operator has to decide: `trouble`, `text`.
        done,     ///< It is empty for ever.
    };

    shard_status() = default;  // declared: no aggregate (docs/compilers.md, G3)

    std::uint32_t shard = 0;
    state what = state::standby;
    mark last;                   ///< As far as is known.
    std::uint64_t messages = 0;  ///< Sent.
    std::uint64_t batches = 0;   ///< Sent, without those that had a mark only.
    std::uint64_t parked = 0;    ///< Rows that were moved out of the way.
    std::uint64_t purged = 0;    ///< Rows that were forgotten.
    std::uint64_t writes = 0;    ///< Transactions with the database; reads are none.
    std::uint64_t purges = 0;    ///< Those of them that forgot rows.
    error_code trouble;          ///< What went wrong last; none if something went well after that.
    std::string text;
};

std::string_view to_string(shard_status::state what) noexcept;

}  // namespace mortise::outbox

#endif
