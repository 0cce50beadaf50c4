// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_RELAY_SHARD_CONTEXT_HPP
#define MORTISE_OUTBOX_SRC_RELAY_SHARD_CONTEXT_HPP

#include "mortise/coro/backoff.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/outbox/relay_event.hpp"
#include "mortise/outbox/shard_status.hpp"
#include "mortise/outbox/sink.hpp"
#include "relay/relay_context.hpp"
#include "table/shards.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace mortise::outbox::detail {

/// Why the sending of a shard ended.
enum class shard_end { done, lost, superseded };

/// The facts about a shard that all parts of its run share, and what the run shows of itself.
///
/// @par Threads   The relay's strand.
/// @par Lifetimes The relay outlives the context.
class shard_context {
public:
    shard_context(relay_context& of, std::uint32_t shard);

    clock::time_point now() const;

    void set(shard_status::state now);
    void tell(relay_event::kind type, error_code why = {}, std::string text = {});
    void fail(error_code why, std::string text);

    /// Waits for news, at most so long.
    asio::awaitable<void> rest(clock::duration longest);
    /// Tells of a failure, and sleeps; longer after each further failure.
    asio::awaitable<void> pause_after(error_code why, std::string text);
    /// Ends a series of failures.
    void succeed() noexcept { pauses_.reset(); }

    relay_context& relay;
    const std::uint32_t number;
    const std::unique_ptr<outbox::sink> sink;
    coro::event news;      ///< There may be something to send, or to end.
    table::holder by;      ///< The present term.
    table::shadow known;   ///< `last` is what the sink has acknowledged.
    bool leaving = false;  ///< The shard passes on to another relay.
    shard_status status;

private:
    coro::backoff pauses_;
};

}  // namespace mortise::outbox::detail

#endif
