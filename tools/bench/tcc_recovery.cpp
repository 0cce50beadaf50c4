// SPDX-License-Identifier: BSL-1.0
#include "bench/bench_files.hpp"
#include "bench/host_meters.hpp"
#include "bench/run_control.hpp"
#include "bench/tcc_phases.hpp"
#include "common/await_main.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"

#include <boost/asio/io_context.hpp>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <iostream>
#include <memory>
#include <utility>

namespace mortise::tool {
namespace {

using std::chrono::hours;

constexpr std::chrono::minutes log_making_max(10);

/// Accepts every try, and answers any other call that it cannot do it yet.
class hesitant final : public txn::participant {
public:
    asio::awaitable<result<txn::reply>> carry_out(txn::call call) override {
        const bool agrees = willing && call.type == txn::operation::try_;
        co_return agrees ? txn::reply::done() : txn::reply::again(hours(1));
    }

    bool willing = true;
};

txn::coordinator_config
config_for(const std::filesystem::path& log, const std::shared_ptr<txn::participant>& who) {
    txn::coordinator_config config;
    config.log = log;
    config.participants = {{"stock", who}, {"wallet", who}};
    config.deadline = hours(24);
    config.open_max = 10'000'000;
    return config;
}

// Makes two halves: one decided, with no branch confirmed, and one only begun.
asio::awaitable<int> make_unfinished(txn::coordinator& tcc, hesitant& who, std::uint64_t count) {
    constexpr std::uint64_t portion = 1'000;
    const auto begin = [&](std::uint64_t to) -> asio::awaitable<void> {
        for (std::uint64_t begun = tcc.stats().begun; begun < to;) {
            const auto next = std::min(begun + portion, to);
            for (; begun < next; ++begun)
                tcc.async_run(bench_purchase(), [](error_code, const txn::outcome&) {});
            co_await await_so([&] { return tcc.stats().begun == next; }, log_making_max);
        }
    };
    co_await begin(count / 2);
    co_await await_so([&] { return tcc.stats().confirmed == count / 2; }, log_making_max);
    who.willing = false;
    co_await begin(count);
    co_return exit_code::success;
}

/// Runs in a process of its own that ends without any farewell, as after a crash.
[[noreturn]] void leave_unfinished(const std::filesystem::path& log, std::uint64_t count) noexcept {
    try {
        asio::io_context context(1);
        const auto who = std::make_shared<hesitant>();
        txn::coordinator tcc(context.get_executor(), config_for(log, who));
        const auto run = [&]() -> asio::awaitable<int> {
            co_await make_unfinished(tcc, *who, count);
            ::_exit(exit_code::success);
        };
        await_main(context, run());
    } catch (const std::exception& failed) {
        failure::of(failed).report(false);
    }
    ::_exit(exit_code::internal);
}

void wait_for(pid_t child) {
    int status = 0;
    pid_t found = 0;
    while ((found = ::waitpid(child, &status, 0)) < 0 && errno == EINTR) {
        try {
            interruption::check();
        } catch (...) {
            ::kill(child, SIGKILL);
            ::waitpid(child, &status, 0);
            throw;
        }
    }
    if (found < 0)
        throw failure::of_errno("waitpid");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != exit_code::success)
        throw failure(exit_code::internal, "the process died that was to leave transactions");
}

}  // namespace

tcc_recovery recovery_turn(const std::filesystem::path& folder, std::uint64_t count) {
    const passing_file log(bench_file(folder, "left"));
    std::cout.flush();
    const pid_t child = ::fork();
    if (child < 0)
        throw failure::of_errno("fork");
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        leave_unfinished(log.path(), count);
    }
    wait_for(child);
    tcc_recovery found;
    const peak_memory memory;
    asio::io_context context(1);
    const auto begin = clock::now();
    txn::coordinator tcc(context.get_executor(), config_for(log.path(), willing_participant()));
    const auto run = [&]() -> asio::awaitable<int> {
        co_await await_so([&] { return tcc.stats().ended >= count; }, log_making_max);
        found.took = clock::now() - begin;
        found.ended = tcc.stats().ended;
        co_await tcc.async_stop();
        co_return exit_code::success;
    };
    await_main(context, run());
    constexpr double mb = 1'000'000;
    if (const auto grown = memory.growth_bytes())
        found.rss_growth_mb = static_cast<double>(*grown) / mb;
    return found;
}

}  // namespace mortise::tool
