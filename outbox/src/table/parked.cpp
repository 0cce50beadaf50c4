// SPDX-License-Identifier: BSL-1.0
#include "table/parked.hpp"

#include "mortise/outbox/error.hpp"
#include "table/rows.hpp"
#include "table/schema.hpp"
#include "wall_clock.hpp"

#include <string_view>

namespace mortise::outbox::table {
namespace {

#define MORTISE_OUTBOX_MOVE                                                                        \
    "INSERT INTO mortise_outbox_parked(id, shard, " MORTISE_OUTBOX_COLUMNS                         \
    ", parked, reason, away) SELECT " MORTISE_OUTBOX_ROW ", " MORTISE_OUTBOX_SHARD                 \
    ", " MORTISE_OUTBOX_COLUMNS ", ?2, ?3, ?4 FROM mortise_outbox AS o WHERE slot = ?1"

std::size_t drop_moved(db::connection& on, std::int64_t slot) {
    if (on.changes() == 0)
        return 0;
    on.run("DELETE FROM mortise_outbox WHERE slot = ?1", slot);
    return 1;
}

}  // namespace

result<std::size_t>
park(db::connection& on, const holder& by, const std::vector<poison_row>& poison) {
    if (!holds(on, by))
        return error_code(errc::superseded);
    std::size_t moved = 0;
    for (const auto& each : poison) {
        const std::int64_t slot = slot_of(by.shard, each.row);
        on.run(
            MORTISE_OUTBOX_MOVE,
            slot,
            wall_now(),
            std::string_view(each.reason),
            std::int64_t{each.away}
        );
        moved += drop_moved(on, slot);
    }
    if (moved > 0)
        ring_after_commit(on);  // others may wait until it is sent or parked
    return moved;
}

result<std::size_t>
park_blocked(db::connection& on, const holder& by, const std::vector<std::int64_t>& rows) {
    if (!holds(on, by))
        return error_code(errc::superseded);
    std::size_t moved = 0;
    for (const auto each : rows) {
        const std::int64_t slot = slot_of(by.shard, each);
        on.run(
            MORTISE_OUTBOX_MOVE
            " AND EXISTS(SELECT 1 FROM mortise_outbox_parked AS p"
            " WHERE p.topic = o.topic AND p.key = o.key AND p.id < " MORTISE_OUTBOX_ROW ")",
            slot,
            wall_now(),
            nullptr,
            std::int64_t{0}
        );
        moved += drop_moved(on, slot);
    }
    if (moved > 0)
        ring_after_commit(on);  // others may wait until it is sent or parked
    return moved;
}

}  // namespace mortise::outbox::table
