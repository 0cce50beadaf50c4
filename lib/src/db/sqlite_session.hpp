// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_SQLITE_SESSION_HPP
#define MORTISE_DB_SQLITE_SESSION_HPP

#include "db/closure_guard.hpp"
#include "db/session_state.hpp"
#include "db/writer.hpp"
#include "mortise/coro/detail/batch_worker.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/db/connection.hpp"
#include "mortise/db/detail/session_job.hpp"
#include "mortise/db/sqlite_config.hpp"
#include "mortise/db/sqlite_stats.hpp"
#include "sqlite/sqlite_db.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

namespace mortise::db::detail {

class session_state;

/// The reading side of a session: runs each closure in a snapshot of its own. Runs on the session's
/// reading thread, except for its construction and its end.
class reader final : public coro::detail::batch_runner {
public:
    /// The database must have been opened for writing before. @throws error
    reader(std::shared_ptr<session_state> state, const sqlite_config& config);
    ~reader() override;

    void run(std::span<const std::shared_ptr<coro::detail::worker_job>> batch) noexcept override;

    /// Closes the files. No closure may run any longer.
    void close() noexcept;

private:
    void read(session_job& job) noexcept;

    std::shared_ptr<session_state> state_;
    busy_wait wait_;
    closure_guard guard_;
    sqlite_detail::sqlite_db db_;
    std::optional<connection> connection_;
};

/// The session that a `db::sqlite` and its operations share: three threads (one writes, one reads,
/// one copies the log back) and their connections.
class sqlite_session {
public:
    /// @throws error
    sqlite_session(asio::any_io_executor executor, sqlite_config config);
    ~sqlite_session();
    sqlite_session(const sqlite_session&) = delete;
    sqlite_session& operator=(const sqlite_session&) = delete;

    const asio::any_io_executor& executor() const noexcept { return executor_; }
    const sqlite_config& config() const noexcept { return config_; }
    session_state& state() noexcept { return *state_; }
    sqlite_stats stats() const noexcept;

    void submit(session_side side, std::shared_ptr<session_job> job);

    /// Takes no more jobs, and completes queued ones with `operation_aborted`. Does not wait.
    void stop() noexcept;
    /// Waits for the jobs that run, and closes the files. Call after `stop`; works once.
    void close() noexcept;
    coro::detail::batch_worker& helper() noexcept { return *helper_; }

    coro::time_source& time();
    /// A different number for each call, derived from one seed.
    std::uint64_t draw_seed() noexcept;

private:
    asio::any_io_executor executor_;
    sqlite_config config_;
    std::shared_ptr<session_state> state_;
    std::atomic<std::uint64_t> seed_;
    std::once_flag time_made_;
    std::shared_ptr<coro::detail::batch_worker> helper_;
    std::shared_ptr<writer> writer_;
    std::shared_ptr<reader> reader_;  // closed before the writer, which is the last to leave
    coro::detail::batch_worker write_thread_;
    coro::detail::batch_worker read_thread_;
    bool closed_ = false;  // on the helper's thread
};

}  // namespace mortise::db::detail

#endif
