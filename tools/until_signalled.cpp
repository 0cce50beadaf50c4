// SPDX-License-Identifier: BSL-1.0
#include "until_signalled.hpp"

#include "exit_code.hpp"
#include "mortise/coro/task_scope.hpp"

#include <boost/asio/this_coro.hpp>

#include <csignal>
#include <exception>
#include <utility>

namespace mortise::tool {
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
