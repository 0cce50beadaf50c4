// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_HANDLER_SINK_HPP
#define MORTISE_OUTBOX_HANDLER_SINK_HPP

#include "mortise/outbox/sink.hpp"
#include "mortise/outbox/verdict.hpp"

#include <functional>

namespace mortise::outbox {

/// Hears one message after the other. What it throws is tried again.
///
/// @par Lifetimes The message is there until it returns.
using message_handler = std::function<asio::awaitable<verdict>(const outgoing& what)>;

/// A sink that hands the messages to a function in this process, those of a shard one after the
/// other. The mark is kept in the table, after the fact: after a crash the last messages come a
/// second time, with the same ids, for which there is `inbox`.
///
/// A message that the function refuses is parked.
///
/// @par Threads   The function is called on the relay's strand; a signal of cancellation comes when
///                the relay stops or loses the shard.
/// @par Lifetimes What it refers to lives until `relay::async_stop` is complete.
sink_factory make_handler_sink(message_handler handler);

}  // namespace mortise::outbox

#endif
