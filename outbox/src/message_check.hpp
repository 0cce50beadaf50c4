// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_MESSAGE_CHECK_HPP
#define MORTISE_OUTBOX_SRC_MESSAGE_CHECK_HPP

#include "mortise/outbox/message.hpp"

namespace mortise::outbox {

/// Checks that the message can be a row.
/// @throws error `no_topic`, `bad_message_id`, `bad_header`, `message_too_large`.
void check_message(const message& message);

}  // namespace mortise::outbox

#endif
