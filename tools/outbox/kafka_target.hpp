// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_OUTBOX_KAFKA_TARGET_HPP
#define MORTISE_TOOLS_OUTBOX_KAFKA_TARGET_HPP

#include "common/settings.hpp"
#include "mortise/outbox/sink.hpp"

namespace mortise::tool {

/// The sink of `outbox relay --kafka`. @throws failure that names the setting that is wrong and
/// shows no secret. A program without Kafka always throws.
outbox::sink_factory kafka_target(const kafka_settings& settings);

}  // namespace mortise::tool

#endif
