// SPDX-License-Identifier: BSL-1.0
#include "common/signal_source.hpp"

#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "mortise/coro/task_scope.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/this_coro.hpp>

#include <sys/signalfd.h>

#include <csignal>
#include <exception>
#include <utility>

namespace mortise::tool {

signal_source::signal_source(const asio::any_io_executor& executor) : descriptor_(executor) {
    // The parent may have made us ignore SIGCHLD; we would never see the end of a child.
    std::signal(SIGCHLD, SIG_DFL);
    sigset_t wanted;
    ::sigemptyset(&wanted);
    for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGCHLD})
        ::sigaddset(&wanted, number);
    ::sigemptyset(&before_);
    ::pthread_sigmask(SIG_BLOCK, &wanted, &before_);
    const int fd = ::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        throw failure::of_errno("signals cannot be received");
    descriptor_.assign(fd);
}

signal_source::~signal_source() = default;

asio::awaitable<signal_source::arrival> signal_source::next() {
    ::signalfd_siginfo info{};
    co_await descriptor_.async_read_some(asio::buffer(&info, sizeof info), asio::deferred);
    // The terminal driver's signals come from the kernel; those of `kill` come from a process.
    co_return arrival{static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
}

namespace {

asio::awaitable<void> keep(asio::awaitable<int> body, int& code) {
    code = co_await std::move(body);
}

asio::awaitable<void> listen(
    signal_source& signals,
    coro::task_scope& work,
    int& ended_by,
    const std::function<void(int)>& on_other
) {
    for (;;) {
        const signal_source::arrival signal = co_await signals.next();
        if (ends_a_program(signal.number)) {
            ended_by = signal.number;
            work.cancel();
            co_return;
        }
        if (on_other)
            on_other(signal.number);
    }
}

}  // namespace

bool ends_a_program(int signal) noexcept {
    return signal == SIGHUP || signal == SIGINT || signal == SIGQUIT || signal == SIGTERM;
}

asio::awaitable<int> until_signalled(
    signal_source& signals, asio::awaitable<int> body, const std::function<void(int)>& on_other
) {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    coro::task_scope work(executor);
    coro::task_scope listening(executor);
    int code = 0;
    int ended_by = 0;
    std::exception_ptr failed;
    work.spawn(keep(std::move(body), code));
    listening.spawn(listen(signals, work, ended_by, on_other));
    try {
        co_await work.join();
    } catch (...) {
        failed = std::current_exception();
    }
    listening.cancel();
    co_await listening.join();
    if (ended_by != 0)
        co_return exit_code::signal_base + ended_by;
    if (failed)
        std::rethrow_exception(failed);
    co_return code;
}

}  // namespace mortise::tool
