// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_WRITER_HPP
#define MORTISE_DB_WRITER_HPP

#include "db/checkpointer.hpp"
#include "db/closure_guard.hpp"
#include "db/session_state.hpp"
#include "mortise/coro/detail/batch_worker.hpp"
#include "mortise/db/connection.hpp"
#include "mortise/db/detail/session_job.hpp"
#include "mortise/db/sqlite_config.hpp"
#include "mortise/error.hpp"
#include "sqlite/sqlite_db.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

namespace mortise::db::detail {

class session_state;

/// The writing side of a session: makes one transaction of a batch of closures. Runs on the
/// session's writing thread, except for its construction and its end.
class writer final : public coro::detail::batch_runner {
public:
    /// @throws error
    writer(
        std::shared_ptr<session_state> state,
        const sqlite_config& config,
        std::shared_ptr<coro::detail::batch_worker> checkpoint_thread
    );
    ~writer() override;

    void run(std::span<const std::shared_ptr<coro::detail::worker_job>> batch) noexcept override;

    /// Closes the files; the last session to leave copies the log back. No closure may run any
    /// longer.
    void close() noexcept;

private:
    using jobs = std::span<const std::shared_ptr<coro::detail::worker_job>>;
    enum class after { go_on, transaction_gone };

    static session_job& job_of(const std::shared_ptr<coro::detail::worker_job>& job) noexcept;
    static void fail_all(jobs failed, error_code why) noexcept;

    jobs run_transaction(jobs wanted) noexcept;
    error_code begin(bool forced) noexcept;
    after run_closure(session_job& job) noexcept;
    void judge(session_job& job) noexcept;
    void lose_transaction(jobs victims) noexcept;
    void commit(jobs done, bool forced) noexcept;
    void count(jobs done, bool forced) noexcept;
    int sync_log() noexcept;
    int step(const char* sql) noexcept;
    int execute(const char* sql) noexcept;

    std::shared_ptr<session_state> state_;
    busy_wait wait_;
    closure_guard guard_;
    sqlite_detail::sqlite_db db_;
    std::optional<connection> connection_;
    std::shared_ptr<checkpointer> checkpoints_;
    std::optional<bool> synchronous_full_ = true;
    bool log_unsynced_ = false;  // lazy commits that no forced one has followed
};

}  // namespace mortise::db::detail

#endif
