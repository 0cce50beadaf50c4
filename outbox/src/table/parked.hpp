// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_TABLE_PARKED_HPP
#define MORTISE_OUTBOX_SRC_TABLE_PARKED_HPP

#include "mortise/db/connection.hpp"
#include "mortise/error.hpp"
#include "table/shards.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mortise::outbox::table {

class poison_row {
public:
    poison_row() = default;  // declared: no aggregate (docs/compilers.md, G3)
    poison_row(std::int64_t number, std::string why, bool has_no_topic = false)
        : row(number), reason(std::move(why)), away(has_no_topic) {}

    std::int64_t row = 0;
    std::string reason;
    bool away = false;  ///< Its topic is missing: see `send_returned`.
};

/// Moves rows that cannot be sent out of the way. Later rows with the same topic and key are
/// blocked from then on.
/// @return how many were moved, or `superseded`.
result<std::size_t>
park(db::connection& on, const holder& by, const std::vector<poison_row>& poison);

/// Moves rows that are blocked by parked ones, if they still are.
/// @return how many were moved, or `superseded`.
result<std::size_t>
park_blocked(db::connection& on, const holder& by, const std::vector<std::int64_t>& rows);

}  // namespace mortise::outbox::table

#endif
