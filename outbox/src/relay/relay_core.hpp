// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_RELAY_RELAY_CORE_HPP
#define MORTISE_OUTBOX_SRC_RELAY_RELAY_CORE_HPP

#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/detail/strand_seat.hpp"
#include "mortise/coro/detail/wait_service.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/db/bell.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/outbox/relay.hpp"
#include "relay/drain_list.hpp"
#include "relay/shard_runner.hpp"
#include "relay/shard_sharing.hpp"
#include "table/log_keeper.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mortise::outbox::detail {

/// The implementation of a `relay`: a session with the database, and a runner for each shard.
///
/// @par Threads The strand, except where a comment says any.
class relay_core final : public std::enable_shared_from_this<relay_core>,
                         public coro::detail::shutdown_hook {
public:
    /// @param config Within its limits.
    relay_core(asio::any_io_executor executor, relay_config config);
    ~relay_core() override;

    /// Call it once, after construction: it needs `shared_from_this`.
    void attach();

    // Any thread.
    const asio::any_io_executor& executor() const noexcept { return seat_.executor(); }
    void drained(code_handler handler);
    void wait_listening(code_handler handler);
    void stop(code_handler handler);
    void close() noexcept;
    std::vector<shard_status> status() const;
    relay_stats stats() const;
    void lag(lag_handler handler);

    // For the parts of the relay.
    const relay_config& config() const noexcept { return config_; }
    const asio::any_io_executor& strand() const noexcept { return seat_.strand(); }
    coro::time_source& time() const noexcept { return *time_; }
    /// The session with the database; makes a new one if the last one is poisoned. @throws error
    std::shared_ptr<db::sqlite> session();
    /// Looks after the log of the database; shared with closures, which may outlive the relay.
    const std::shared_ptr<table::log_keeper>& log() const noexcept { return log_; }
    /// Repairs the log after a failed fsync; nothing is sent before that. @throws error
    asio::awaitable<void> restore_log();
    const std::string& table_id() const noexcept { return table_id_; }
    bool stopping() const noexcept { return stopping_; }
    std::uint64_t draw_seed();
    void show(const shard_status& now);
    void tell(const relay_event& event);
    /// Looks for new shards.
    void look_for_shards();
    void due_at(std::optional<std::int64_t> when);
    /// A read that began after these waits found nothing to send; or an operator must decide.
    void emptied(std::uint32_t shard, std::uint64_t read) { drains_.emptied(shard, read); }
    void stuck(std::uint32_t shard, error_code why) { drains_.stuck(shard, why); }
    std::uint64_t begin_read() noexcept { return ++reads_; }
    const std::map<std::uint32_t, std::shared_ptr<shard_runner>>& runners() const noexcept {
        return runners_;
    }

private:
    void shut_down() noexcept override;
    void start();
    asio::awaitable<void> keep();
    asio::awaitable<void> keep_once();
    asio::awaitable<void> open();
    asio::awaitable<void> look_for_commits();
    asio::awaitable<void> share();
    void read_lag(lag_handler handler);
    void add_runner(std::uint32_t shard);
    void ended();
    void news();
    void begin_stop(bool at_once);
    void end_stop();
    void answer_stoppers();
    void begin_drains(std::size_t count, const std::vector<table::open_shard>& shards);

    coro::detail::strand_seat seat_;
    const relay_config config_;
    const std::shared_ptr<coro::time_source> time_;
    coro::event listening_;  ///< Set once `bell_` exists, or never will.
    std::uint64_t seed_;

    std::shared_ptr<db::sqlite> session_;
    const std::shared_ptr<table::log_keeper> log_ = std::make_shared<table::log_keeper>();
    std::optional<db::bell> bell_;
    std::string table_id_;
    std::map<std::uint32_t, std::shared_ptr<shard_runner>> runners_;
    std::size_t running_ = 0;  ///< Coroutines that have not ended.
    std::optional<coro::event> work_;
    asio::cancellation_signal stop_keeping_;
    asio::cancellation_signal stop_sharing_;
    shard_sharing sharing_{*this};
    coro::detail::alarm alarm_;       ///< Rings when a message is due.
    coro::detail::alarm stop_alarm_;  ///< Limits the time of a stop.
    std::optional<std::int64_t> due_;
    drain_list drains_;
    std::vector<code_handler> stoppers_;
    std::uint64_t reads_ = 0;
    std::weak_ptr<db::sqlite> looked_at_;  ///< The session of `seen_version_`.
    std::int64_t seen_version_ = 0;
    bool look_for_commits_ = false;
    bool look_ = true;
    bool opened_ = false;
    bool stopping_ = false;
    bool closed_ = false;
    bool closing_ = false;  ///< The session is being closed.

    mutable std::mutex status_mutex_;
    std::map<std::uint32_t, shard_status> status_;
    relay_stats counts_;  ///< Counted from events.
};

}  // namespace mortise::outbox::detail

#endif
