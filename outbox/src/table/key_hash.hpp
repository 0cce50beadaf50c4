// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_TABLE_KEY_HASH_HPP
#define MORTISE_OUTBOX_SRC_TABLE_KEY_HASH_HPP

#include <cstdint>
#include <string_view>

namespace mortise::outbox::table {

/// Hashes a key to 31 bits, as Kafka's own clients do to choose a partition. If the number of
/// shards divides that of the partitions, only one shard writes to each partition. Its readers then
/// never wait for the transaction of another shard.
///
/// Source: A. Appleby, MurmurHash2 (2008), with Kafka's seed.
std::uint32_t key_hash(std::string_view key) noexcept;

}  // namespace mortise::outbox::table

#endif
