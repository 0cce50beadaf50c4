// SPDX-License-Identifier: BSL-1.0
#include "worker_state.hpp"

#include "mortise/coro/assert.hpp"
#include "mortise/coro/clock.hpp"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace mortise::coro::detail {

namespace {

// Blocks all signals while a thread is made, which inherits the mask: the signals of the program go
// to its other threads.
class all_signals_blocked {
public:
    all_signals_blocked() noexcept {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~all_signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    all_signals_blocked(const all_signals_blocked&) = delete;
    all_signals_blocked& operator=(const all_signals_blocked&) = delete;

private:
    sigset_t before_{};
};

// Limits `grace`, because a moment too far away would overflow; "for ever" means to wait for the
// closure.
worker_config bounded(worker_config config) {
    using std::chrono::milliseconds;
    constexpr milliseconds longest = std::chrono::hours(24 * 365);
    config.grace = std::clamp(config.grace, milliseconds::zero(), longest);
    return config;
}

// Keeps a job for ever whose handler can neither be run, since its context is gone, nor be
// destroyed, since a stuck closure may refer to its frame. At most one for each detached thread.
void leak(std::shared_ptr<worker_job> job) {
    static std::mutex mutex;
    static auto& leaked = *new std::vector<std::shared_ptr<worker_job>>();
    std::lock_guard hold(mutex);
    leaked.push_back(std::move(job));
}

class plain_runner final : public batch_runner {
public:
    void run(std::span<const std::shared_ptr<worker_job>> batch) noexcept override {
        for (const auto& job : batch)
            job->run();
    }
};

}  // namespace

worker_state::worker_state(worker_config config)
    : worker_state(std::move(config), 1, std::make_shared<plain_runner>()) {}

worker_state::worker_state(
    worker_config config, std::size_t batch_max, std::shared_ptr<batch_runner> runner
)
    : config_(bounded(std::move(config))),
      batch_max_(batch_max),
      runner_(std::move(runner)),
      queue_(std::make_shared<wait_fifo>()),
      mutex_(queue_->mutex()) {
    MORTISE_ASSERT(config_.queue_max > 0);
    MORTISE_ASSERT(batch_max_ > 0 && runner_);
    batch_.reserve(batch_max_);  // the thread must not fail for want of memory
}

worker_state::~worker_state() {
    wait_service::unlink(*this);
}

void worker_state::start(asio::execution_context& context) {
    if (!wait_service::of(context).link(shared_from_this())) {
        constexpr auto why = "the execution context is ending";
        throw boost::system::system_error(asio::error::operation_aborted, why);
    }
    host_ = worker_host::find(context);
    if (host_) {
        id_ = std::this_thread::get_id();
        finished_ = true;
        return;
    }
    const all_signals_blocked blocked;
    thread_ = std::thread([self = shared_from_this()] { self->run(); });
}

bool worker_state::submit(std::shared_ptr<worker_job> job) {
    job->worker_ = weak_from_this();
    job->listen(job->slot());
    error_code refused;
    bool stands = false;
    {
        std::lock_guard hold(mutex_);
        if (stopping_)
            refused = asio::error::operation_aborted;
        else if (queue_->size() >= config_.queue_max)
            refused = errc::queue_full;
        else
            stands = wait_fifo::push(queue_, job, job->context());
    }
    if (stands)
        wake();
    else if (refused)
        job->finish(refused);
    else
        job->drop();  // its context is ending
    return stands;
}

void worker_state::wake() {
    if (!host_)
        return wanted_.notify_one();
    if (!std::exchange(turn_planned_, true))
        host_->schedule([self = shared_from_this()] { self->take_turn(); });
}

void worker_state::stop() noexcept {
    if (process_.forked())
        return;  // The mutex may be locked for ever, by a thread of the parent.
    for (;;) {   // ends: nothing is queued once it is stopping
        std::shared_ptr<wait_entry> dropped;
        {
            std::lock_guard hold(mutex_);
            stopping_ = true;
            dropped = queue_->pop();
        }
        if (!dropped)
            break;
        dropped->finish(asio::error::operation_aborted);
    }
    wanted_.notify_all();
}

void worker_state::join() noexcept {
    if (process_.forked())
        return;
    std::unique_lock hold(mutex_);
    std::thread taken = std::exchange(thread_, std::thread());
    if (!taken.joinable())
        return;
    const bool by_itself = taken.get_id() == std::this_thread::get_id();
    const bool ended =
        !by_itself && changed_.wait_for(hold, config_.grace, [this] { return finished_; });
    detached_ = !ended;
    hold.unlock();
    if (ended)
        taken.join();
    else
        taken.detach();
}

void worker_state::wait_stopped() noexcept {
    std::unique_lock hold(mutex_);
    MORTISE_ASSERT(stopping_ && (host_ || std::this_thread::get_id() != id_));
    changed_.wait(hold, [this] { return finished_; });
}

std::size_t worker_state::queued() const noexcept {
    std::lock_guard hold(mutex_);
    return queue_->size();
}

bool worker_state::in_batch(const worker_job& job) const noexcept {
    return std::any_of(batch_.begin(), batch_.end(), [&](const auto& each) {
        return each.get() == &job;
    });
}

// In a forked child the job must stay as it is: the thread that may be in the middle of its
// closure, or have the mutex, is in the parent.
bool worker_state::leaves_behind(worker_job& job) const noexcept {
    if (!process_.forked())
        return false;
    leak(std::static_pointer_cast<worker_job>(job.shared_from_this()));
    return true;
}

void worker_state::let_go(worker_job& job) noexcept {
    {
        std::unique_lock hold(mutex_);
        if (!in_batch(job))
            return;
        const auto over = [&] { return !in_batch(job); };
        const bool own_thread = std::this_thread::get_id() == id_;
        if (posting_ == &job) {
            if (!own_thread)
                changed_.wait(hold, over);  // short: no closure runs, only the post
            return;
        }
        job.orphaned_ = true;
        const bool idle_here = own_thread && !working_;  // its closure has ended
        if (!idle_here &&
            (own_thread || detached_ || !changed_.wait_for(hold, config_.grace, over))) {
            hold.unlock();
            return leak(std::static_pointer_cast<worker_job>(job.shared_from_this()));
        }
    }
    job.drop();
}

void worker_state::shut_down() noexcept {
    stop();
    join();
}

void worker_state::run() noexcept {
    ::pthread_setname_np(::pthread_self(), config_.name.substr(0, 15).c_str());
    {
        std::lock_guard hold(mutex_);
        id_ = std::this_thread::get_id();
    }
    while (next_batch())
        run_batch();
    std::lock_guard hold(mutex_);
    finished_ = true;
    changed_.notify_all();
}

// Looks for a job without sleeping: to be woken takes longer than a short closure.
void worker_state::poll_for_job() noexcept {
    if (config_.busy_poll_max.count() <= 0 || !polling_.admits())
        return;
    const auto end = clock::now() + config_.busy_poll_max;
    do {
        {
            std::lock_guard hold(mutex_);
            if (stopping_ || queue_->size() > 0)
                return polling_.earned();
        }
        std::this_thread::yield();
    } while (clock::now() < end);
    polling_.wasted();
}

bool worker_state::next_batch() {
    poll_for_job();
    std::unique_lock hold(mutex_);
    wanted_.wait(hold, [this] { return stopping_ || queue_->size() > 0; });
    return take_batch();
}

// Under the mutex.
bool worker_state::take_batch() {
    while (batch_.size() < batch_max_ && queue_->size() > 0)
        batch_.push_back(std::static_pointer_cast<worker_job>(queue_->pop_linked()));
    working_ = !batch_.empty();
    return working_;
}

void worker_state::run_batch() {
    runner_->run(batch_);
    {
        std::lock_guard hold(mutex_);
        working_ = false;
    }
    if (!host_)
        deliver_batch();
}

void worker_state::deliver_batch() {
    for (auto& job : batch_)
        deliver(job);
    std::lock_guard hold(mutex_);
    batch_.clear();
}

void worker_state::take_turn() {
    turn_planned_ = false;
    bool more = true;
    if (!batch_.empty()) {
        deliver_batch();
        more = queued() != 0;
    } else {
        {
            const std::lock_guard hold(mutex_);
            more = take_batch();
        }
        if (more)
            run_batch();
    }
    if (more)
        wake();
}

void worker_state::deliver(std::shared_ptr<worker_job>& job) {
    bool wanted = false;
    {
        std::lock_guard hold(mutex_);
        wanted = !job->orphaned_;
        posting_ = wanted ? job.get() : nullptr;
    }
    if (wanted) {
        job->deliver();
        wait_service::unlink(*job);
    }
    std::shared_ptr<worker_job> notified;  // destroyed outside of the lock
    std::lock_guard hold(mutex_);
    posting_ = nullptr;
    notified = std::exchange(job, nullptr);
    changed_.notify_all();
}

}  // namespace mortise::coro::detail
