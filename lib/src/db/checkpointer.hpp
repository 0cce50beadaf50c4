// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_CHECKPOINTER_HPP
#define MORTISE_DB_CHECKPOINTER_HPP

#include "db/session_state.hpp"
#include "mortise/coro/detail/batch_worker.hpp"
#include "mortise/db/sqlite_config.hpp"
#include "mortise/detail/unique_fd.hpp"
#include "sqlite/sqlite_db.hpp"

#include <condition_variable>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <mutex>

namespace mortise::db::detail {

class session_state;

/// Lets one session of the host at a time copy the log back: a lock on a file beside the database.
/// Never on SQLite's own files: closing our descriptor of one would drop SQLite's locks on it.
class checkpoint_lock {
public:
    /// @throws error
    explicit checkpoint_lock(const std::filesystem::path& database);

    /// @return false if another session has it.
    bool try_lock() noexcept;
    void unlock() noexcept;

private:
    mortise::detail::unique_fd file_;
};

/// Copies the write-ahead log back into the database by size, beside the writer (ADR 0007).
///
/// Before SQLite 3.51.3 a pass that begins when nothing is left to copy destroys the database if
/// the log begins anew meanwhile. So a pass begins only if a commit of our own is known to be left
/// to copy, under the lock that all passes need: until that commit is copied, the log cannot begin
/// anew.
///
/// A pass beside a busy writer leaves a few frames uncopied, so the log never begins anew. Once the
/// log has twice its intended size, a second pass follows the first, and the next batch waits for
/// its end. At four times that size the next batch waits for any pass: the log must not outrun a
/// slow disk.
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
    class order;
    enum class phase { idle, armed, copying, copied };  // all but idle with the lock held

    bool must_wait() const noexcept {
        return phase_ == phase::copying && (held_up_ || log_bytes_ >= 4 * size_);
    }
    bool is_behind() const noexcept { return log_bytes_ >= 2 * size_ && log_bytes_ != copied_; }
    void order_pass(std::unique_lock<std::mutex>& hold) noexcept;
    void work() noexcept;
    bool goes_on() noexcept;
    void abandon() noexcept;
    void rest() noexcept;
    void pass(bool writers_wait) noexcept;

    std::shared_ptr<session_state> state_;
    const std::size_t size_;
    std::shared_ptr<coro::detail::batch_worker> thread_;
    busy_wait wait_;
    sqlite_detail::sqlite_db db_;
    checkpoint_lock lock_;

    std::mutex mutex_;  // guards all that follows
    std::condition_variable ended_;
    phase phase_ = phase::idle;
    bool in_batch_ = false;
    bool committed_ = false;  // since the batch began
    bool held_up_ = false;    // the next batch waits for the pass that runs
    std::size_t log_bytes_ = 0;
    std::size_t copied_ = 0;  // bytes of the log that the last pass found copied
    std::size_t next_at_;
};

}  // namespace mortise::db::detail

#endif
