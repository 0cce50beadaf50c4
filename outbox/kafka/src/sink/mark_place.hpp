// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_SINK_MARK_PLACE_HPP
#define MORTISE_KAFKA_SRC_SINK_MARK_PLACE_HPP

#include "mortise/kafka/record.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace mortise::kafka {

/// Writes "PARTITION:OFFSET".
std::string place_text(const record_position& at);
/// Reads such a text; nothing for any other text.
std::optional<record_position> parse_place(std::string_view text);

}  // namespace mortise::kafka

#endif
