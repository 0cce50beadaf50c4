// SPDX-License-Identifier: BSL-1.0
#include "signal_source.hpp"

#include "failure.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/deferred.hpp>

#include <sys/signalfd.h>

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

}  // namespace mortise::tool
