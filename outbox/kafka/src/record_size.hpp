// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_RECORD_SIZE_HPP
#define MORTISE_KAFKA_SRC_RECORD_SIZE_HPP

#include "mortise/kafka/record.hpp"

#include <cstddef>

namespace mortise::kafka {

/// The bytes of a record on the wire, at most and before compression.
inline std::size_t size_of(const record& record) {
    std::size_t size = 100;  // Kafka's own overhead, at most.
    size += record.key ? record.key->size() : 0;
    size += record.value ? record.value->size() : 0;
    for (const record_header& header : record.headers)
        size += header.name.size() + (header.value ? header.value->size() : 0) + 10;
    return size;
}

}  // namespace mortise::kafka

#endif
