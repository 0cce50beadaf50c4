// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_PROCESSOR_DEAD_LETTER_HPP
#define MORTISE_KAFKA_SRC_PROCESSOR_DEAD_LETTER_HPP

#include "mortise/kafka/consumed_record.hpp"

#include <string>

namespace mortise::kafka {

/// Copies the record for the dead-letter topic, and adds headers with its position and the reason.
record dead_letter_of(const std::string& topic, const consumed_record& source, std::string why);

}  // namespace mortise::kafka

#endif
