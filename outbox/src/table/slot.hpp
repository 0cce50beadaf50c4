// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_TABLE_SLOT_HPP
#define MORTISE_OUTBOX_SRC_TABLE_SLOT_HPP

#include <algorithm>
#include <cstdint>

namespace mortise::outbox::table {

// The slot is the place of a row in the message table: first by shard, then by number. So the rows
// of a shard lie together, and a relay reads them in sequence. Numbers belong to the table, not to
// the shard: no two rows have the same.
constexpr int row_bits = 46;
constexpr std::int64_t rows_end = std::int64_t{1} << row_bits;
constexpr std::int64_t shards_end = std::int64_t{1} << (63 - row_bits);

// Clamps numbers that no row can have, which a mark or a user may supply, to the nearest possible
// one.
constexpr std::int64_t slot_of(std::uint32_t shard, std::int64_t row) noexcept {
    return std::min<std::int64_t>(shard, shards_end - 1) * rows_end +
           std::clamp<std::int64_t>(row, 0, rows_end - 1);
}
constexpr std::int64_t row_at(std::int64_t slot) noexcept {
    return slot % rows_end;
}

// The same in a statement.
#define MORTISE_OUTBOX_SLOT(shard, row) "((" shard " << 46) + " row ")"
#define MORTISE_OUTBOX_ROW "(slot & 0x3fffffffffff)"
#define MORTISE_OUTBOX_SHARD "(slot >> 46)"
static_assert(row_bits == 46 && rows_end == 0x3fffffffffff + 1);

}  // namespace mortise::outbox::table

#endif
