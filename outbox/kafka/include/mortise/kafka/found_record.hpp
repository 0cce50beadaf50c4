// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_FOUND_RECORD_HPP
#define MORTISE_KAFKA_FOUND_RECORD_HPP

#include "mortise/kafka/record.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace mortise::kafka {

/// A record that was read, and its position.
class found_record {
public:
    found_record() = default;  // declared: no aggregate (docs/compilers.md, G3)

    record_position at;
    std::optional<std::string> value;  ///< Absent: Kafka's null, which means that it was deleted.
    std::int64_t timestamp = 0;        ///< Milliseconds since 1970.
};

}  // namespace mortise::kafka

#endif
