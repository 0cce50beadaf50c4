// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_TABLE_KEY_HASH_HPP
#define MORTISE_OUTBOX_SRC_TABLE_KEY_HASH_HPP

#include <cstdint>
#include <string_view>

namespace mortise::outbox::table {

/// 31 bits of a key, as Kafka's own clients choose a partition by: where the number of shards
/// divides that of the partitions, each partition is written by one shard only, and readers of one
/// never wait for the transaction of another.
///
/// Source: A. Appleby, MurmurHash2 (2008), with Kafka's seed.
std::uint32_t key_hash(std::string_view key) noexcept;

}  // namespace mortise::outbox::table

#endif
