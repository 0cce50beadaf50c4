// SPDX-License-Identifier: BSL-1.0
#include "db/checkpointer.hpp"

#include "db/open_database.hpp"
#include "db/session_state.hpp"
#include "mortise/coro/assert.hpp"
#include "sqlite/failure.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

namespace mortise::db::detail {
namespace {

/// Whether a pass with this result may be repeated, because the log still has everything. After any
/// other failure nobody knows what is on the disk.
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

// A pass waits for readers only briefly, because the writer may be waiting for the pass.
constexpr std::chrono::milliseconds wait_max(20);

}  // namespace

/// An ordered pass; abandoned if the thread is stopped before it runs.
class checkpointer::order {
public:
    explicit order(std::shared_ptr<checkpointer> to) noexcept : to_(std::move(to)) {}
    order(order&&) noexcept = default;
    order& operator=(order&&) = delete;
    ~order() {
        if (to_)
            to_->abandon();
    }
    void operator()() noexcept { std::exchange(to_, nullptr)->work(); }

private:
    std::shared_ptr<checkpointer> to_;
};

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
    wait_.set_max(std::min(config.busy_max, wait_max));
}

void checkpointer::before_batch() noexcept {
    std::unique_lock hold(mutex_);
    ended_.wait(hold, [this] { return !must_wait(); });
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
    if (phase_ != phase::armed && phase_ != phase::copied)
        return;
    held_up_ = phase_ == phase::copied;
    const bool wanted = held_up_ ? is_behind() : committed_ && log_bytes_ >= next_at_;
    if (wanted)
        order_pass(hold);
    else
        rest();
}

void checkpointer::order_pass(std::unique_lock<std::mutex>& hold) noexcept {
    using job = coro::detail::posted_job<order>;
    phase_ = phase::copying;
    hold.unlock();
    thread_->submit(std::make_shared<job>(order(shared_from_this())));
}

void checkpointer::work() noexcept {
    bool held_up = false;
    {
        const std::lock_guard hold(mutex_);
        held_up = held_up_;
    }
    do {
        pass(std::exchange(held_up, true));
    } while (goes_on());
}

// Whether a second pass follows the first at once. If a batch runs, `after_batch` orders the
// second.
bool checkpointer::goes_on() noexcept {
    const std::lock_guard hold(mutex_);
    next_at_ = log_bytes_ + size_;
    if (!held_up_ && !state_->poisoned && log_bytes_ >= 2 * size_) {
        if (in_batch_) {
            phase_ = phase::copied;
            return false;
        }
        held_up_ = is_behind();
        if (held_up_)
            return true;
    }
    rest();
    return false;
}

void checkpointer::abandon() noexcept {
    const std::lock_guard hold(mutex_);
    rest();
}

void checkpointer::rest() noexcept {
    phase_ = phase::idle;
    lock_.unlock();
    ended_.notify_all();
}

void checkpointer::pass(bool writers_wait) noexcept {
    int pages = 0;
    int copied = 0;
    const int mode = writers_wait ? SQLITE_CHECKPOINT_FULL : SQLITE_CHECKPOINT_PASSIVE;
    const int code = ::sqlite3_wal_checkpoint_v2(db_.handle(), nullptr, mode, &pages, &copied);
    if (code == SQLITE_OK)
        ++state_->checkpoints;
    else if (!may_be_repeated(code))
        state_->poisoned = true;
    const std::lock_guard hold(mutex_);
    copied_ = static_cast<std::size_t>(std::max(copied, 0)) * db_.page_bytes();
}

checkpoint_lock::checkpoint_lock(const std::filesystem::path& database) {
    const std::string path = database.string() + ".checkpoint";
    constexpr mode_t mode = 0666;  // less the umask, as SQLite makes the database
    file_.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, mode));
    if (!file_)
        throw sqlite_detail::failure_of_call(errno, "opening it", path);
}

bool checkpoint_lock::try_lock() noexcept {
    return ::flock(file_.get(), LOCK_EX | LOCK_NB) == 0;
}

void checkpoint_lock::unlock() noexcept {
    const int code = ::flock(file_.get(), LOCK_UN);
    MORTISE_ASSERT(code == 0);
}

}  // namespace mortise::db::detail
