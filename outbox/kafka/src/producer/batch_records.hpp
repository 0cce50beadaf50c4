// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_PRODUCER_BATCH_RECORDS_HPP
#define MORTISE_KAFKA_SRC_PRODUCER_BATCH_RECORDS_HPP

#include "mortise/kafka/record.hpp"
#include "mortise/kafka/transaction_outcome.hpp"

#include <cstddef>

namespace mortise::kafka::detail {

// The extra records of a batch have the indexes after those of `records`.
inline std::size_t index_of_last(const transaction_batch& batch) noexcept {
    return batch.records.size();
}
inline std::size_t index_of_first(const transaction_batch& batch) noexcept {
    return batch.records.size() + 1;
}
inline std::size_t index_end(const transaction_batch& batch) noexcept {
    return batch.records.size() + 2;
}

/// Calls `look(record, index)` for all records of a batch.
template <class Look>
void for_each_record(const transaction_batch& batch, Look look) {
    for (std::size_t i = 0; i < batch.records.size(); ++i)
        look(batch.records[i], i);
    if (batch.last)
        look(*batch.last, index_of_last(batch));
    if (batch.first)
        look(*batch.first, index_of_first(batch));
}

/// The bytes of a record on the wire, at most and before compression.
inline std::size_t size_of(const record& record) {
    std::size_t size = 100;  // Kafka's own overhead, at most.
    size += record.key ? record.key->size() : 0;
    size += record.value ? record.value->size() : 0;
    for (const record_header& header : record.headers)
        size += header.name.size() + (header.value ? header.value->size() : 0) + 10;
    return size;
}

}  // namespace mortise::kafka::detail

#endif
