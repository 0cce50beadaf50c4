// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_SQLITE_SESSION_HPP
#define MORTISE_DB_SQLITE_SESSION_HPP

#include "db/reader.hpp"
#include "db/writer.hpp"
#include "mortise/coro/detail/batch_worker.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/db/detail/session_job.hpp"
#include "mortise/db/sqlite_config.hpp"
#include "mortise/db/sqlite_stats.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

namespace mortise::db::detail {

class session_state;

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
