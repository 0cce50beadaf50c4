// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_RELAY_RELAY_CONTEXT_HPP
#define MORTISE_OUTBOX_SRC_RELAY_RELAY_CONTEXT_HPP

#include "mortise/coro/detail/with_code.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/outbox/relay.hpp"
#include "relay/drain_list.hpp"
#include "table/log_keeper.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::outbox::detail {

using coro::detail::with_code;

/// The things that all parts of a relay share: its configuration, the session with the database,
/// the statuses of its shards, and its drains.
///
/// @par Threads   The strand, except where a comment says any.
/// @par Lifetimes Outlives the parts.
class relay_context {
public:
    relay_context(
        asio::any_io_executor executor, asio::any_io_executor strand, relay_config config
    );

    const relay_config& config() const noexcept { return config_; }
    const asio::any_io_executor& strand() const noexcept { return strand_; }
    coro::time_source& time() const noexcept { return *time_; }
    std::uint64_t draw_seed() noexcept { return ++seed_; }
    const std::string& table_id() const noexcept { return table_id_; }
    void set_table_id(std::string id) { table_id_ = std::move(id); }

    bool stopping() const noexcept { return stopping_; }
    /// @return whether it was stopping already.
    bool set_stopping() noexcept { return std::exchange(stopping_, true); }

    /// The session with the database; makes a new one if the last one is poisoned. @throws error
    std::shared_ptr<db::sqlite> session();
    std::shared_ptr<db::sqlite> take_session() noexcept { return std::exchange(session_, nullptr); }
    /// Looks after the log of the database; shared with closures, which may outlive the relay.
    const std::shared_ptr<table::log_keeper>& log() const noexcept { return log_; }
    /// Repairs the log after a failed fsync; nothing is sent before that. @throws error
    asio::awaitable<void> restore_log();

    void show(const shard_status& now);
    void tell(const relay_event& event);
    // Any thread:
    std::vector<shard_status> status() const;
    relay_stats stats() const;

    // Requests to the coroutine that works for all shards:

    void look_for_shards();
    void due_at(std::optional<std::int64_t> when);
    void wake();

    // For that coroutine:

    bool take_look() noexcept { return std::exchange(look_, false); }
    const std::optional<std::int64_t>& due() const noexcept { return due_; }
    void set_due(std::optional<std::int64_t> when) noexcept { due_ = when; }
    coro::event& woken() noexcept { return *wake_; }
    void drop_wake() noexcept { wake_.reset(); }

    drain_list& drains() noexcept { return drains_; }
    std::uint64_t begin_read() noexcept { return ++reads_; }
    /// The number of the last read that began.
    std::uint64_t last_read() const noexcept { return reads_; }

private:
    const asio::any_io_executor executor_;
    const asio::any_io_executor strand_;
    const relay_config config_;
    const std::shared_ptr<coro::time_source> time_;
    std::uint64_t seed_;
    std::string table_id_;
    bool stopping_ = false;

    std::shared_ptr<db::sqlite> session_;
    const std::shared_ptr<table::log_keeper> log_ = std::make_shared<table::log_keeper>();

    std::optional<coro::event> wake_;
    bool look_ = true;
    std::optional<std::int64_t> due_;
    drain_list drains_;
    std::uint64_t reads_ = 0;

    mutable std::mutex status_mutex_;
    std::map<std::uint32_t, shard_status> status_;
    relay_stats counts_;  ///< Counted from events.
};

}  // namespace mortise::outbox::detail

#endif
