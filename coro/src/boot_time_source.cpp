// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/assert.hpp"
#include "mortise/coro/time_source.hpp"
#include "timer_queue.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/system/system_error.hpp>

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

namespace mortise::coro {

namespace {

using boost::system::system_category;
using boost::system::system_error;

constexpr auto never = clock::time_point::max();

int make_timer() {
    const int fd = ::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (fd < 0)
        throw system_error(error_code(errno, system_category()), "timerfd_create");
    return fd;
}

/// The waits, the timerfd that is set to the earliest, and the loop that reads it.
///
/// The descriptor is used on a strand; setting the timer is a system call that any thread may make.
/// The loop is stopped while nobody waits, because a pending read would keep the context running.
class boot_timer final : public detail::timer_queue, public detail::shutdown_hook {
public:
    explicit boot_timer(const asio::any_io_executor& executor)
        : timer_(make_timer()), io_(std::in_place, asio::make_strand(executor), timer_) {}
    ~boot_timer() override { detail::wait_service::unlink(*this); }

    std::shared_ptr<boot_timer> self() {
        return std::static_pointer_cast<boot_timer>(shared_from_this());
    }

    /// Registers for the end of the context. False if the context is ending now.
    bool start() {
        auto& context = asio::query(io_->get_executor(), asio::execution::context);
        return detail::wait_service::of(context).link(self());
    }

    /// Ends all waits; no wait can start any longer.
    void stop() noexcept {
        close();
        std::lock_guard hold(mutex());
        if (io_)
            asio::post(io_->get_executor(), [self = self()] { self->release(); });
    }

private:
    void earliest_changed(clock::time_point when) override {
        if (!io_ || when == never)
            return;
        arm(when);
        if (!std::exchange(watching_, true))
            post_to_strand(&boot_timer::watch);
    }

    void removed() noexcept override {
        std::lock_guard hold(mutex());
        if (watching_ && earliest().value_or(never) == never)
            post_to_strand(&boot_timer::rest);
    }

    void shut_down() noexcept override {
        close();
        release();
    }

    void release() noexcept {
        std::optional<asio::posix::stream_descriptor> gone;
        std::lock_guard hold(mutex());
        std::swap(gone, io_);  // destroyed after the mutex is unlocked
    }

    // Must be called under the mutex.
    void post_to_strand(void (boot_timer::*then)()) {
        if (!io_)
            return;
        asio::post(io_->get_executor(), [weak = std::weak_ptr(self()), then] {
            if (const auto alive = weak.lock())
                (*alive.*then)();
        });
    }

    // On the strand, from here on.

    void watch() {
        if (!io_)
            return;
        io_->async_wait(
            asio::posix::stream_descriptor::wait_read,
            [weak = std::weak_ptr(self())](error_code) {
                if (const auto alive = weak.lock())
                    alive->expired();
            }
        );
    }

    void rest() {
        {
            std::lock_guard hold(mutex());
            if (!io_ || earliest().value_or(never) != never)
                return;
        }
        error_code ignored;  // it fails only for a closed descriptor
        io_->cancel(ignored);
    }

    // The timer went off, or `rest` cancelled the read; both are handled alike.
    void expired() {
        if (!io_)
            return;
        drain();
        complete_due(clock::now());
        {
            std::lock_guard hold(mutex());
            const auto next = earliest().value_or(never);
            watching_ = next != never;
            if (!watching_)
                return;
            arm(next);
        }
        watch();
    }

    void drain() const noexcept {
        std::uint64_t expirations = 0;
        const auto got = ::read(timer_, &expirations, sizeof expirations);
        MORTISE_ASSERT(got == static_cast<ssize_t>(sizeof expirations) || errno == EAGAIN);
    }

    // A moment in the past goes off at once. At least 1 ns, because all zeros disarm the timer.
    void arm(clock::time_point when) const noexcept {
        using std::chrono::seconds;
        const auto since = std::max(when.time_since_epoch(), clock::duration(1));
        const auto whole = std::chrono::duration_cast<seconds>(since);
        itimerspec at{};
        at.it_value.tv_sec = static_cast<time_t>(whole.count());
        at.it_value.tv_nsec = static_cast<long>((since - whole).count());
        const int failed = ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr);
        MORTISE_ASSERT(failed == 0);
    }

    const int timer_;
    // Owns the timer and the strand, which must not outlive its context. Changed under the mutex,
    // on the strand or by the end of the context.
    std::optional<asio::posix::stream_descriptor> io_;
    bool watching_ = false;  // under the mutex: a read is pending, or about to be
};

class boot_time_source final : public time_source {
public:
    explicit boot_time_source(executor_type executor)
        : time_source(std::move(executor)), timer_(std::make_shared<boot_timer>(get_executor())) {
        if (!timer_->start())
            throw system_error(asio::error::operation_aborted, "the execution context is ending");
    }
    ~boot_time_source() override { timer_->stop(); }

    clock::time_point now() const noexcept override { return clock::now(); }

private:
    void wait_until(clock::time_point when, detail::completion<void(error_code)> done) override {
        if (when <= now())
            done.complete(error_code());
        else
            std::shared_ptr(timer_)->add(when, std::move(done));
    }

    std::shared_ptr<boot_timer> timer_;
};

}  // namespace

std::shared_ptr<time_source> make_boot_time_source(asio::any_io_executor executor) {
    return std::make_shared<boot_time_source>(std::move(executor));
}

}  // namespace mortise::coro
