// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_HANDLER_SINK_HPP
#define MORTISE_OUTBOX_HANDLER_SINK_HPP

#include "mortise/outbox/sink.hpp"
#include "mortise/outbox/verdict.hpp"

#include <cstdint>
#include <functional>
#include <type_traits>

namespace mortise::outbox {

/// Hears one message after the other. What it throws is tried again, `attempts_max` times.
///
/// @par Lifetimes The message is there until it returns.
using message_handler = std::function<asio::awaitable<verdict>(const outgoing& what)>;

struct handler_sink_options {
    /// How often a message is tried before it is parked: 1 to 1,000,000.
    std::uint32_t attempts_max = 10;
};
static_assert(std::is_trivially_destructible_v<handler_sink_options>, "docs/compilers.md, G1");

/// A sink that hands the messages to a function in this process, those of a shard one after the
/// other. The mark is kept in the table, after the fact: after a crash the last messages come a
/// second time, with the same ids, for which there is `inbox`.
///
/// A message that the function refuses is parked, and so is one for which it has thrown
/// `attempts_max` times: what has its topic and key waits behind it, all else goes on. Attempts are
/// counted in memory, from one when another relay takes the shard; what the function throws after a
/// signal of cancellation does not count. The pauses between them are the relay's (`retry_first`,
/// `retry_max`), and the shard waits meanwhile.
///
/// @throws mortise::error (`bad_config`) for attempts that are out of their limits
/// @par Threads   The function is called on the relay's strand; a signal of cancellation comes when
///                the relay stops or loses the shard.
/// @par Lifetimes What it refers to lives until `relay::async_stop` is complete.
sink_factory make_handler_sink(message_handler handler, handler_sink_options options = {});

}  // namespace mortise::outbox

#endif
