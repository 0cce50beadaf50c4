// SPDX-License-Identifier: BSL-1.0
#include "common/await_main.hpp"
#include "common/child_process.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "common/printable.hpp"
#include "common/signal_source.hpp"
#include "lock/lock_commands.hpp"
#include "mortise/coro/detail/with_code.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/coro/task_scope.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/open_store.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cerrno>
#include <exception>
#include <filesystem>
#include <iostream>
#include <optional>

namespace mortise::tool {
namespace {

void tell(const std::string& line) {
    std::cerr << "mortise: " << printable(line, newlines::as_spaces) << '\n';
}

constexpr std::size_t label_size_max = 64;  // people read it

client_config config_for(const run_settings& settings) {
    client_config config;
    config.ttl = settings.ttl;
    const std::string program = std::filesystem::path(settings.command.front()).filename();
    config.label = "run: " + printable(program.substr(0, label_size_max));
    return config;
}

/// One call of `mortise run`. Everything runs on the context's only thread, which is the main
/// thread: the command dies with the thread that forked it.
class lock_run {
public:
    lock_run(
        asio::io_context& context, const global_settings& global, const run_settings& settings
    );

    asio::awaitable<int> conduct();

private:
    asio::awaitable<int> under_lock();
    asio::awaitable<std::optional<lease>> acquire();
    asio::awaitable<int> supervise(lease& held);
    asio::awaitable<void> await_execution();
    asio::awaitable<void> stop_when_lost(lease& held);
    asio::awaitable<void> read_signals();
    void on_signal(const signal_source::arrival& signal);
    void start_command(const lease& held);
    asio::awaitable<void> release(lease& held);

    const run_settings& settings_;
    std::string store_;
    asio::any_io_executor executor_;
    signal_source signals_;  // before the client, which starts threads
    lock_client locks_;
    coro::event child_ended_;
    asio::cancellation_signal withdraw_;
    std::optional<child_process> child_;
    int ended_by_ = 0;  ///< The signal that ended the wait for the lock.
    bool waiting_ = false;
    error_code lost_;
};

lock_run::lock_run(
    asio::io_context& context, const global_settings& global, const run_settings& settings
)
    : settings_(settings),
      store_(global.shown_store()),
      executor_(context.get_executor()),
      signals_(executor_),
      locks_(executor_, open_store(global.store), config_for(settings)),
      child_ended_(executor_) {}

asio::awaitable<int> lock_run::conduct() {
    coro::task_scope scope(executor_);
    scope.spawn(read_signals());
    int code = 0;
    std::exception_ptr failed;
    try {
        code = co_await under_lock();
    } catch (...) {
        failed = std::current_exception();
    }
    co_await locks_.async_stop(coro::detail::with_code
    );  // ignores errors: the end of the session frees the rest
    scope.cancel();
    co_await scope.join();
    if (failed)
        std::rethrow_exception(failed);
    co_return code;
}

asio::awaitable<int> lock_run::under_lock() {
    std::optional<lease> held = co_await acquire();
    if (!held)
        co_return exit_code::signal_base + ended_by_;
    int code = 0;
    std::exception_ptr failed;
    try {
        code = co_await supervise(*held);
    } catch (...) {
        failed = std::current_exception();
    }
    co_await release(*held);
    if (failed)
        std::rethrow_exception(failed);
    if (lost_) {
        throw failure(
            exit_code::lost,
            "the lock was lost before the command ended",
            settings_.lock,
            "the command's exit code was " + std::to_string(code)
        );
    }
    co_return code;
}

/// Waits for the lease. Returns nothing if a signal ended the wait.
asio::awaitable<std::optional<lease>> lock_run::acquire() {
    lock_options options;
    options.wait_max = settings_.wait;
    options.mode = settings_.mode;
    options.hold_max = settings_.hold_max;
    waiting_ = true;
    auto acquired = co_await locks_.async_acquire(
        settings_.lock,
        options,
        asio::bind_cancellation_slot(withdraw_.slot(), coro::detail::with_code)
    );
    waiting_ = false;
    auto& [code, held] = acquired;
    if (ended_by_ != 0) {
        if (!code)
            co_await release(held);
        co_return std::nullopt;
    }
    if (code == errc::capacity_differs) {
        throw failure(
            exit_code::usage,
            code.message(),
            settings_.lock,
            "`mortise show` shows how it is held; all must say the same --permits"
        );
    }
    if (code == errc::busy) {
        throw failure(
            exit_code::not_acquired,
            code.message(),
            settings_.lock,
            "`mortise ls` shows by whom; --wait says how long to wait"
        );
    }
    if (code)
        throw failure::of_code(code, store_, locks_.explain());
    co_return std::move(held);
}

/// Runs the command to its end. @return its exit code.
asio::awaitable<int> lock_run::supervise(lease& held) {
    start_command(held);
    coro::task_scope watch(executor_);
    watch.spawn(stop_when_lost(held));
    std::exception_ptr failed;
    try {
        co_await await_execution();
    } catch (...) {
        failed = std::current_exception();
    }
    co_await child_ended_.async_wait(coro::detail::with_code);
    // Ask the clock: after a pause of the process the timer may not have run yet.
    if (const error_code late = held.check(); late && !lost_)
        lost_ = late;
    watch.cancel();
    co_await watch.join();
    if (failed)
        std::rethrow_exception(failed);
    co_return child_->exit_code();
}

void lock_run::start_command(const lease& held) {
    child_order order;
    order.command = settings_.command;
    order.environment.emplace_back("MORTISE_LOCK", settings_.lock);
    const fencing_token token = held.token();  // Not every store gives a token.
    order.environment.emplace_back("MORTISE_TOKEN", token ? std::to_string(token.value) : "");
    order.environment.emplace_back("MORTISE_TOKEN_DOMAIN", token.domain.name());
    order.environment.emplace_back("MORTISE_SLOT", std::to_string(held.slot()));
    order.signal_mask = signals_.mask_before();
    child_ = child_process::spawn(order);
}

asio::awaitable<void> lock_run::await_execution() {
    asio::posix::stream_descriptor report(executor_, child_->execution());
    co_await report.async_wait(asio::posix::stream_descriptor::wait_read, asio::deferred);
    report.release();
    const int reason = child_->execution_error();
    if (reason == 0)
        co_return;
    const bool absent = reason == ENOENT;
    throw failure(
        absent ? exit_code::not_found : exit_code::not_executable,
        "the command cannot be executed",
        settings_.command.front(),
        error_code(reason, boost::system::system_category()).message()
    );
}

/// Ends the command when the lease is about to be lost: asks it by SIGTERM, and kills it after the
/// grace time.
asio::awaitable<void> lock_run::stop_when_lost(lease& held) {
    auto waited = co_await held.async_wait_lost(coro::detail::with_code);
    auto& [why] = waited;
    if (why == asio::error::operation_aborted)
        co_return;  // the command ended first
    lost_ = why;
    tell("the lock was lost, stopping the command: " + settings_.lock + "; " + why.message());
    child_->send(SIGTERM);
    asio::steady_timer grace(executor_, settings_.grace);
    auto ended = co_await grace.async_wait(coro::detail::with_code);
    auto& [stopped_waiting] = ended;
    if (stopped_waiting)
        co_return;
    child_->send(SIGKILL);
}

asio::awaitable<void> lock_run::read_signals() {
    for (;;)
        on_signal(co_await signals_.next());
}

void lock_run::on_signal(const signal_source::arrival& signal) {
    if (signal.number == SIGCHLD) {
        if (child_ && child_->ended())
            child_ended_.set();
        return;
    }
    const bool ends = signal.number == SIGHUP || signal.number == SIGINT ||
                      signal.number == SIGQUIT || signal.number == SIGTERM;
    if (child_) {
        if (!signal.from_terminal)
            child_->send(signal.number);
    } else if (waiting_ && ends && ended_by_ == 0) {
        ended_by_ = signal.number;
        withdraw_.emit(asio::cancellation_type::total);
    }
}

asio::awaitable<void> lock_run::release(lease& held) {
    auto released = co_await held.async_release(coro::detail::with_code);
    auto& [code] = released;
    if (code == errc::lease_lost || code == errc::session_lost) {
        if (!lost_)
            lost_ = code;
    } else if (code && !lost_) {
        tell(
            "the release was not acknowledged: " + settings_.lock +
            "; the store frees the lock within " + std::to_string(settings_.ttl.count()) + " ms"
        );
    }
}

}  // namespace

int run_under_lock(const global_settings& global, const run_settings& settings) {
    if (const std::optional<error> wrong = check_name(settings.lock))
        throw *wrong;
    asio::io_context context(1);
    lock_run run(context, global, settings);
    return await_main(context, run.conduct());
}

}  // namespace mortise::tool
