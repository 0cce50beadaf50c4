// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_KAFKA_TARGET_HPP
#define MORTISE_TOOLS_KAFKA_TARGET_HPP

#include "mortise/outbox/sink.hpp"
#include "settings.hpp"

namespace mortise::tool {

/// Where `outbox relay --kafka` sends to. @throws failure that names what is wrong in the settings,
/// and shows no secret; also in a program without Kafka.
outbox::sink_factory kafka_target(const kafka_settings& said);

}  // namespace mortise::tool

#endif
