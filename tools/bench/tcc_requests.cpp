// SPDX-License-Identifier: BSL-1.0
#include "await_main.hpp"
#include "bench/tcc_phases.hpp"
#include "bench/tcc_world.hpp"
#include "exit_code.hpp"
#include "mortise/coro/task_scope.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <memory>
#include <utility>

namespace mortise::tool {
namespace {

constexpr std::uint64_t first_branches = 400;  // branches

txn::call call_of(txn::operation what, std::uint64_t number) {
    txn::call made;
    made.what = what;
    made.gid = {0x5f0c3a9be1d27746, number};
    made.branch = 1;
    made.attempt = 1;
    made.epoch = 1;
    made.term = 1;
    made.participant = "stock";
    made.payload = bench_purchase().branches().front().payload;
    made.time_left = std::chrono::seconds(10);
    return made;
}

// Tries and then confirms one branch after the other.
asio::awaitable<void> call_again_and_again(txn::participant& whom, tcc_tally& tally) {
    std::uint64_t number = 0;
    while (tally.take()) {
        const auto begin = clock::now();
        ++number;
        auto trying = whom.carry_out(call_of(txn::operation::try_, number));
        const auto tried = co_await std::move(trying);
        auto confirming = whom.carry_out(call_of(txn::operation::confirm, number));
        const auto confirmed = co_await std::move(confirming);
        if (tried && confirmed)
            tally.done(clock::now() - begin);
        else
            tally.failed();
    }
}

asio::awaitable<void>
call_all(txn::participant& stock, txn::participant& wallet, tcc_tally& tally, unsigned in_flight) {
    coro::task_scope scope(co_await asio::this_coro::executor);
    for (unsigned i = 0; i < in_flight; ++i) {
        scope.spawn(call_again_and_again(stock, tally));
        scope.spawn(call_again_and_again(wallet, tally));
    }
    co_await scope.join();
}

}  // namespace

// Keeps as many requests under way as that many transactions of two branches do.
void bare_http_turn(const tcc_amount& amount, const http_bank& bank, tcc_figures& sum) {
    asio::io_context context(1);
    const auto stock = bank.participant(context.get_executor(), "stock");
    const auto wallet = bank.participant(context.get_executor(), "wallet");
    const auto run = [&]() -> asio::awaitable<int> {
        tcc_tally unmeasured({amount.in_flight, {}, first_branches});
        co_await call_all(*stock, *wallet, unmeasured, amount.in_flight);
        const auto begin = clock::now();
        tcc_tally tally({amount.in_flight, amount.span, 2 * amount.count});
        co_await call_all(*stock, *wallet, tally, amount.in_flight);
        sum.took += clock::now() - begin;
        sum.count += tally.took().size() / 2;
        sum.failures += tally.failures();
        co_return exit_code::success;
    };
    await_main(context, run());
}

}  // namespace mortise::tool
