// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_RELAY_SHARD_RUNNER_HPP
#define MORTISE_OUTBOX_SRC_RELAY_SHARD_RUNNER_HPP

#include "mortise/coro/backoff.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/outbox/relay_event.hpp"
#include "mortise/outbox/shard_status.hpp"
#include "mortise/outbox/sink.hpp"
#include "table/parked.hpp"
#include "table/rows.hpp"
#include "table/shards.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise {
class lease;
}

namespace mortise::outbox::detail {

class pending_read;
class relay_core;

/// Sends the rows of one shard: holds its lock, opens its sink, finds where to go on, and sends one
/// batch after the other.
///
/// @par Threads   The relay's strand.
/// @par Lifetimes The core outlives the runner.
class shard_runner {
    using state = shard_status::state;

public:
    shard_runner(relay_core& core, std::uint32_t shard);

    /// Runs until the shard is done, or the relay stops.
    asio::awaitable<void> run();

    /// Wakes the runner: there may be something to send.
    void news() { news_.set(); }
    bool done() const noexcept { return status_.at == state::done; }
    bool holds() const noexcept { return status_.at != state::standby; }
    asio::cancellation_slot slot() noexcept { return stop_.slot(); }
    /// The token of its lock; none without a lock, or while leaving.
    std::optional<fencing_token> held() const noexcept;
    std::string lock_name() const;
    bool leaving() const noexcept { return leaving_; }
    /// Passes the shard on to another relay: ends the batch under way and releases the lock.
    void leave();
    /// Stops the runner. The batch under way may still end, unless `at_once`.
    void stop(bool at_once);

private:
    enum class end { done, lost, superseded };

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
    asio::awaitable<end> send_all();
    std::shared_ptr<pending_read> start_read(std::int64_t after);
    asio::awaitable<std::optional<end>> send(table::batch& next);
    asio::awaitable<bool> bind_to_sink();
    asio::awaitable<published> publish(std::vector<outgoing>& rows, const mark& after);
    asio::awaitable<bool> park(std::vector<table::poison_row> poison);
    asio::awaitable<bool> park_blocked(std::vector<std::int64_t> rows);
    bool parked(error_code failed, std::size_t moved);
    asio::awaitable<std::optional<end>> look_for_topics();
    asio::awaitable<std::optional<std::size_t>> send_returned(const table::away_topic& topic);
    asio::awaitable<bool> purge();
    asio::awaitable<std::optional<end>> be_idle(std::uint32_t newest_layout);
    asio::awaitable<std::optional<end>> finish();
    asio::awaitable<std::optional<end>> send_idle_mark();
    asio::awaitable<void> rest(clock::duration longest);
    asio::awaitable<void> pause_after(error_code why, std::string text);

    void resize_batches(published::kind outcome);
    void advance(const mark& to, std::size_t messages, std::string place);
    void fail(error_code why, std::string text);
    void tell_sent(std::size_t messages, clock::duration took);
    void set(state now);
    void tell(relay_event::kind kind, error_code why = {}, std::string text = {});
    bool purge_due() const;
    bool look_due() const { return away_ && now() >= look_at_; }
    clock::time_point now() const;

    relay_core& core_;
    const std::uint32_t shard_;
    std::unique_ptr<sink> sink_;
    coro::event news_;
    asio::cancellation_signal stop_;
    coro::backoff pauses_;
    table::holder by_;
    table::shadow known_;   ///< `last` is what the sink has acknowledged.
    std::string identity_;  ///< The open sink; in `known_.sink` once the sink has something.
    bool bound_ = false;    ///< The table has stored `identity_`.
    std::uint32_t layout_seen_ = 0;
    std::size_t batch_rows_;    ///< The present limit; lower after a failure.
    std::size_t unpurged_ = 0;  ///< Sent since the last purge.
    bool purge_wanted_ = false;
    bool refused_ = false;       ///< The table says that the shard is refused.
    bool mark_unsaved_ = false;  ///< For a sink that keeps no marks.
    clock::time_point purge_at_;
    bool away_ = true;             ///< Rows may be parked for a missing topic.
    clock::time_point look_at_{};  ///< When to look for missing topics.
    clock::time_point sent_at_;    ///< When the last mark was sent.
    bool publishing_ = false;
    bool serving_ = false;  ///< `by_` is the present term.
    bool leaving_ = false;
    shard_status status_;
};

}  // namespace mortise::outbox::detail

#endif
