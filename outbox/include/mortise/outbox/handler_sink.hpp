// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_HANDLER_SINK_HPP
#define MORTISE_OUTBOX_HANDLER_SINK_HPP

#include "mortise/outbox/sink.hpp"
#include "mortise/outbox/verdict.hpp"

#include <cstdint>
#include <functional>
#include <type_traits>

namespace mortise::outbox {

/// Handles one message after the other. If it throws, the message is tried again, at most
/// `attempts_max` times in all.
///
/// @par Lifetimes `message` is valid until the handler returns.
using message_handler = std::function<asio::awaitable<verdict>(const outgoing& message)>;

struct handler_sink_options {
    /// How often a message is tried before it is parked: 1 to 1,000,000.
    std::uint32_t attempts_max = 10;
};
static_assert(std::is_trivially_destructible_v<handler_sink_options>, "docs/compilers.md, G1");

/// A sink that hands the messages to a function in this process, those of a shard one after the
/// other. The mark is kept in the table and written after the call. So after a crash the last
/// messages come a second time, with the same ids; `inbox` removes such repetitions.
///
/// A message is parked if the function refuses it, or has thrown for it `attempts_max` times. Later
/// messages with its topic and key wait behind it; all others go on. Attempts are counted in
/// memory, and start at one again when another relay takes the shard. An exception after a
/// cancellation signal does not count. Between attempts the relay pauses (`retry_first`,
/// `retry_max`), and the whole shard waits.
///
/// @throws mortise::error (`bad_config`) if `attempts_max` is outside its limits
/// @par Threads   The function is called on the relay's strand. It gets a cancellation signal when
///                the relay stops or loses the shard.
/// @par Lifetimes What the function refers to must live until `relay::async_stop` is complete.
sink_factory make_handler_sink(message_handler handler, handler_sink_options options = {});

}  // namespace mortise::outbox

#endif
