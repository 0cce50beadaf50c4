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
#include "table/returned.hpp"
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

/// Empties one shard: holds its lock, opens its sink, finds where to go on, and sends one batch
/// after the other.
///
/// @par Threads   The relay's strand.
/// @par Lifetimes The core outlives it.
class shard_runner {
    using state = shard_status::state;

public:
    shard_runner(relay_core& core, std::uint32_t shard);

    /// Until the shard is done, or the relay stops.
    asio::awaitable<void> run();

    /// There may be something to send.
    void news() { news_.set(); }
    bool done() const noexcept { return status_.what == state::done; }
    bool holds() const noexcept { return status_.what != state::standby; }
    asio::cancellation_slot slot() noexcept { return stop_.slot(); }
    /// The token of its lock; nothing without one, or on the way out.
    std::optional<fencing_token> held() const noexcept;
    std::string lock_name() const;
    bool leaving() const noexcept { return leaving_; }
    /// Another relay is to have it: ends the batch that is under way, and lets go of the lock.
    void leave();
    /// The relay stops. A batch that is under way may end, unless it is too late for that.
    void stop(bool at_once);

private:
    enum class end { done, lost, superseded };

    asio::awaitable<void> try_once();
    asio::awaitable<void> serve(const lease* held);
    asio::awaitable<table::claim> take(const lease* held);
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
    asio::awaitable<bool> park(std::vector<table::poison_row> which);
    asio::awaitable<bool> park_blocked(std::vector<std::int64_t> which);
    bool parked(error_code failed, std::size_t moved);
    asio::awaitable<std::optional<end>> look_for_topics();
    asio::awaitable<std::optional<std::size_t>> send_returned(const table::away_topic& which);
    asio::awaitable<bool> purge();
    asio::awaitable<std::optional<end>> be_idle(std::uint32_t newest_layout);
    asio::awaitable<std::optional<end>> finish();
    asio::awaitable<std::optional<end>> send_idle_mark();
    asio::awaitable<void> rest(clock::duration longest);
    asio::awaitable<void> pause_after(error_code why, std::string text);

    void resize_batches(published::kind came);
    void advance(const mark& to, std::size_t messages, std::string place);
    void fail(error_code why, std::string text);
    void tell_sent(std::size_t messages, clock::duration took);
    void set(state now);
    void tell(relay_event::kind what, error_code why = {}, std::string text = {});
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
    table::shadow known_;   ///< `last`: what the sink has acknowledged.
    std::string identity_;  ///< Of the sink that was opened; `known_.sink` once it has something.
    bool bound_ = false;    ///< The table knows `identity_`.
    std::uint32_t layout_seen_ = 0;
    std::size_t batch_rows_;    ///< At most so many; fewer after a failure.
    std::size_t unpurged_ = 0;  ///< Sent since the last purge.
    bool purge_wanted_ = false;
    bool refused_ = false;       ///< The table says that nobody goes on.
    bool mark_unsaved_ = false;  ///< Of a sink that keeps none.
    clock::time_point purge_at_;
    bool away_ = true;             ///< Something may be parked as its topic was not there.
    clock::time_point look_at_{};  ///< When to look next whether it is.
    clock::time_point sent_at_;    ///< The last mark.
    bool publishing_ = false;
    bool serving_ = false;  ///< `by_` is whose term it is.
    bool leaving_ = false;
    shard_status status_;
};

}  // namespace mortise::outbox::detail

#endif
