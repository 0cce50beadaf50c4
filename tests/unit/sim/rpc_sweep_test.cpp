// SPDX-License-Identifier: BSL-1.0
#include "mortise/sim/rpc.hpp"
#include "mortise/sim/world.hpp"
#include "support/cancel_sweep.hpp"
#include "support/print.hpp"

#include <boost/asio/error.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>

namespace mortise::sim::rpc_sweep_test {
namespace {

using namespace std::chrono_literals;

class RpcSweep : public testing::TestWithParam<asio::cancellation_type> {};

INSTANTIATE_TEST_SUITE_P(
    Types, RpcSweep, testing::ValuesIn(test::cancellation_types), test::param_name()
);

/// Two processes, of which one asks the other.
class rpc_world {
public:
    ~rpc_world() { all.end(); }

    void step_while(const std::function<bool()>& wanted) {
        all.run_until([&] { return !wanted(); }, 10s);
    }
    void settle() { all.run_for(10s); }

    world all{3};
    process& asking{started("asking")};
    process& asked{started("asked")};
    asio::any_io_executor context{asking.get_executor()};

private:
    process& started(const char* name) {
        process& added = all.add_process(name);
        added.run([](process&) -> asio::awaitable<void> { co_return; });
        return added;
    }
};

class call final : public test::sweep_case {
public:
    explicit call(rpc_world& world) : world_(world) {}
    asio::awaitable<void> operation() override {
        auto asking = rpc<int>(
            world_.asking, world_.asked, [this] { return ++served_; }, 1s
        );
        const auto answer = co_await std::move(asking);
        EXPECT_TRUE(answer && *answer == 1);
    }
    // A coroutine that was cancelled before it came to its question does not ask it.
    void check(const test::co_world::outcome& outcome) override {
        const error_code code = outcome.code();
        EXPECT_TRUE(!code || code == asio::error::operation_aborted) << code.message();
        EXPECT_EQ(served_, code ? 0 : 1);
    }

private:
    rpc_world& world_;
    int served_ = 0;
};

TEST_P(RpcSweep, AQuestionThatWasSentIsAnsweredWhateverSignalComes) {
    const auto steps = test::cancel_sweep<rpc_world>("rpc", GetParam(), [](rpc_world& at) {
        return std::make_unique<call>(at);
    });
    EXPECT_GE(steps, 3u);
}

}  // namespace
}  // namespace mortise::sim::rpc_sweep_test
