// SPDX-License-Identifier: BSL-1.0
#include "db/checkpointer.hpp"

#include "db/open_database.hpp"
#include "db/session_state.hpp"

#include <sqlite3.h>

#include <utility>

namespace mortise::db::detail {
namespace {

/// Whether a pass that failed so may be made again: the log still has everything. After any other
/// failure nobody knows what is on the disk.
bool may_be_repeated(int code) noexcept {
    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_FULL:
    case SQLITE_NOMEM:
        return true;
    default:
        return false;
    }
}

}  // namespace

checkpointer::checkpointer(
    std::shared_ptr<session_state> state,
    const sqlite_config& config,
    std::shared_ptr<coro::detail::batch_worker> thread
)
    : state_(std::move(state)),
      size_(config.checkpoint_bytes),
      thread_(std::move(thread)),
      wait_(*state_, config.busy_max),
      lock_(config.path),
      next_at_(size_) {
    open_database(db_, wait_, config, database_use::checkpoint);
}

void checkpointer::before_batch() noexcept {
    std::unique_lock hold(mutex_);
    ended_.wait(hold, [this] { return phase_ != phase::copying || !held_up_; });
    in_batch_ = true;
    committed_ = false;
    if (phase_ == phase::idle && log_bytes_ >= next_at_ && lock_.try_lock())
        phase_ = phase::armed;
}

void checkpointer::after_commit(std::size_t log_bytes) noexcept {
    const std::lock_guard hold(mutex_);
    if (log_bytes < log_bytes_)
        next_at_ = size_;  // the log began anew
    log_bytes_ = log_bytes;
    committed_ = true;
}

void checkpointer::after_batch() noexcept {
    std::unique_lock hold(mutex_);
    in_batch_ = false;
    const bool wanted = committed_ && log_bytes_ >= next_at_;
    if (phase_ == phase::armed) {
        held_up_ = false;
        return wanted ? start_pass(hold) : rest();
    }
    if (phase_ == phase::copied) {
        held_up_ = true;
        return committed_ && log_bytes_ >= 2 * size_ ? start_pass(hold) : rest();
    }
}

void checkpointer::start_pass(std::unique_lock<std::mutex>& hold) noexcept {
    phase_ = phase::copying;
    // Owned by the closure, so that its end is told even if the thread was stopped before.
    std::shared_ptr<checkpointer> ending(this, [self = shared_from_this()](checkpointer*) {
        self->end_pass();
    });
    hold.unlock();
    auto pass = [ending = std::move(ending)] { ending->pass(); };
    thread_->submit(std::make_shared<coro::detail::posted_job<decltype(pass)>>(std::move(pass)));
}

void checkpointer::pass() noexcept {
    const int code = db_.checkpoint(false);
    if (code == SQLITE_OK)
        ++state_->checkpoints;
    else if (!may_be_repeated(code))
        state_->poisoned = true;
}

void checkpointer::end_pass() noexcept {
    const std::lock_guard hold(mutex_);
    next_at_ = log_bytes_ + size_;
    // A writer that rests has written nothing since the pass began, or will come by again.
    if (!held_up_ && in_batch_ && log_bytes_ >= 2 * size_) {
        phase_ = phase::copied;
        committed_ = false;  // what counts is a commit that this pass has not copied
    } else {
        rest();
    }
    ended_.notify_all();
}

void checkpointer::rest() noexcept {
    phase_ = phase::idle;
    lock_.unlock();
}

}  // namespace mortise::db::detail
