// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_RELAY_SHARD_RUNNER_HPP
#define MORTISE_OUTBOX_SRC_RELAY_SHARD_RUNNER_HPP

#include "mortise/fencing_token.hpp"
#include "mortise/outbox/mark.hpp"
#include "mortise/outbox/shard_status.hpp"
#include "relay/shard_context.hpp"
#include "relay/shard_sender.hpp"
#include "table/shards.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace mortise {
class lease;
}

namespace mortise::outbox::detail {

/// Runs one shard: holds its lock, opens its sink, finds where to go on, and lets the sender send.
///
/// @par Threads   The relay's strand.
/// @par Lifetimes The relay's context outlives the runner.
class shard_runner {
    using state = shard_status::state;

public:
    shard_runner(relay_context& relay, std::uint32_t shard);

    /// Runs until the shard is done, or the relay stops.
    asio::awaitable<void> run();

    /// Wakes the runner: there may be something to send.
    void news() { shard_.news.set(); }
    bool done() const noexcept { return shard_.status.at == state::done; }
    bool holds() const noexcept { return shard_.status.at != state::standby; }
    asio::cancellation_slot slot() noexcept { return stop_.slot(); }
    /// The token of its lock; none without a lock, or while leaving.
    std::optional<fencing_token> held() const noexcept;
    std::string lock_name() const;
    bool leaving() const noexcept { return shard_.leaving; }
    /// Passes the shard on to another relay: ends the batch under way and releases the lock.
    void leave();
    /// Stops the runner. The batch under way may still end, unless `at_once`.
    void stop(bool at_once);

private:
    asio::awaitable<void> try_once();
    asio::awaitable<void> serve(const lease* held);
    asio::awaitable<table::takeover> take(const lease* held);
    asio::awaitable<void> await_earlier_shards();
    asio::awaitable<bool> begin();
    asio::awaitable<void> accept();
    asio::awaitable<table::mark_place> find_mark(std::int64_t row);
    asio::awaitable<void>
    await_operator(error_code why, std::string text, std::optional<mark> seen);
    asio::awaitable<void> close_sink();
    asio::awaitable<void> save_mark();

    shard_context shard_;
    shard_sender sender_;
    asio::cancellation_signal stop_;
    bool refused_ = false;  ///< The table says that the shard is refused.
    bool serving_ = false;  ///< A term is under way.
};

/// The runners of a relay, by the numbers of their shards.
using shard_runners = std::map<std::uint32_t, std::shared_ptr<shard_runner>>;

}  // namespace mortise::outbox::detail

#endif
