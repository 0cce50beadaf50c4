// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_CHECKPOINTER_HPP
#define MORTISE_DB_CHECKPOINTER_HPP

#include "db/busy_wait.hpp"
#include "db/checkpoint_lock.hpp"
#include "mortise/coro/detail/batch_worker.hpp"
#include "mortise/db/sqlite_config.hpp"
#include "store/sqlite/db.hpp"

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>

namespace mortise::db::detail {

class session_state;

/// Copies the write-ahead log back into the database by size, beside the writer (ADR 0007).
///
/// Before SQLite 3.51.3 a pass that begins when nothing is left to copy destroys the database if
/// the log begins anew meanwhile. So each pass follows a commit of our own that was made *under*
/// the lock that all passes need: until that pass has ended there is something left to copy, and
/// the log cannot begin anew.
///
/// A pass beside a busy writer always leaves a few frames over, and the log then never begins
/// anew. Once it has twice its size, a second pass follows at once, and the next batch waits for
/// the end of that one.
class checkpointer : public std::enable_shared_from_this<checkpointer> {
public:
    /// @throws error. Passes run on `thread`.
    checkpointer(
        std::shared_ptr<session_state> state,
        const sqlite_config& config,
        std::shared_ptr<coro::detail::batch_worker> thread
    );

    // The writer's steps, on its thread, in this order for each batch.
    void before_batch() noexcept;
    void after_commit(std::size_t log_bytes) noexcept;
    void after_batch() noexcept;

private:
    enum class phase { idle, armed, copying, copied };  // all but idle with the lock held

    void start_pass(std::unique_lock<std::mutex>& hold) noexcept;
    void pass() noexcept;
    void end_pass() noexcept;
    void rest() noexcept;

    std::shared_ptr<session_state> state_;
    const std::size_t size_;
    std::shared_ptr<coro::detail::batch_worker> thread_;
    busy_wait wait_;
    store_detail::sqlite_db db_;
    checkpoint_lock lock_;

    std::mutex mutex_;  // guards all that follows
    std::condition_variable ended_;
    phase phase_ = phase::idle;
    bool in_batch_ = false;
    bool committed_ = false;  // since the batch began
    bool held_up_ = false;    // the next batch waits for the pass that runs
    std::size_t log_bytes_ = 0;
    std::size_t next_at_;
};

}  // namespace mortise::db::detail

#endif
