// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_RELAY_RELAY_CORE_HPP
#define MORTISE_OUTBOX_SRC_RELAY_RELAY_CORE_HPP

#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/detail/background_core.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/db/bell.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/outbox/relay.hpp"
#include "relay/relay_context.hpp"
#include "relay/shard_runner.hpp"
#include "relay/shard_sharing.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace mortise::outbox::detail {

/// The implementation of a `relay`: a session with the database, and a runner for each shard.
///
/// @par Threads The strand, except where a comment says any.
class relay_core final : public coro::detail::background_core<relay_core> {
public:
    /// @param config Within its limits.
    relay_core(asio::any_io_executor executor, relay_config config);
    ~relay_core() override;

    // Any thread.
    void drained(code_handler handler);
    void wait_listening(code_handler handler);
    std::vector<shard_status> status() const { return context_.status(); }
    relay_stats stats() const { return context_.stats(); }
    void lag(lag_handler handler);

private:
    friend class coro::detail::background_core<relay_core>;

    void start();
    void begin_stop(bool at_once);
    void drop() noexcept;
    asio::awaitable<void> keep();
    asio::awaitable<void> keep_once();
    asio::awaitable<void> open();
    asio::awaitable<void> look_for_commits();
    asio::awaitable<void> share();
    void read_lag(lag_handler handler);
    void add_runner(std::uint32_t shard);
    void ended();
    void news();
    void end_stop();
    void begin_drains(std::size_t count, const std::vector<table::open_shard>& shards);

    relay_context context_;
    coro::event listening_;  ///< Set once `bell_` exists, or never will.

    std::optional<db::bell> bell_;
    shard_runners runners_;
    std::size_t running_ = 0;  ///< Coroutines that have not ended.
    asio::cancellation_signal stop_keeping_;
    asio::cancellation_signal stop_sharing_;
    shard_sharing sharing_{context_, runners_};
    coro::detail::alarm alarm_;            ///< Rings when a message is due.
    coro::detail::alarm stop_alarm_;       ///< Limits the time of a stop.
    std::weak_ptr<db::sqlite> looked_at_;  ///< The session of `seen_version_`.
    std::int64_t seen_version_ = 0;
    bool look_for_commits_ = false;
    bool opened_ = false;
    bool closed_ = false;
    bool closing_ = false;  ///< The session is being closed.
};

}  // namespace mortise::outbox::detail

#endif
