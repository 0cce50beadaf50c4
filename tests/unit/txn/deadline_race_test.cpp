// SPDX-License-Identifier: BSL-1.0
// Tries that succeed at the very moment at which the time is up.
#include "mortise/coro/sleep.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/txn/functions.hpp"
#include "unit/txn/coordinator_fixture.hpp"

#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace mortise::test::deadline_race_test {
namespace {

using namespace std::chrono_literals;

/// Tries here take about as long as they may. The participant notes each try and how it ended.
class slow_participant final : public txn::participant {
public:
    asio::awaitable<result<txn::reply>> carry_out(txn::call call) override {
        if (call.type == txn::operation::try_) {
            {
                const std::lock_guard guard(mutex_);
                ends_[call.gid];
            }
            const auto time = coro::make_boot_time_source(co_await asio::this_coro::executor);
            const auto span = std::chrono::microseconds(call.gid.number * 7'919 % 80'000);
            co_await coro::sleep_for(*time, span);
        } else {
            const std::lock_guard guard(mutex_);
            ends_[call.gid].insert(call.type);
        }
        co_return txn::reply::done();
    }

    /// Whether there was no try, and so no end either, or exactly this end.
    bool ended_by(const txn::gid& gid, txn::operation end) const {
        const std::lock_guard guard(mutex_);
        const auto found = ends_.find(gid);
        return found == ends_.end() ? end == txn::operation::cancel
                                    : found->second == std::set{end};
    }

private:
    mutable std::mutex mutex_;
    std::map<txn::gid, std::set<txn::operation>> ends_;
};

class TxnDeadlineRace : public coordinator_fixture {};

TEST_F(TxnDeadlineRace, EitherOutcomeIsToldAsItIs) {
    const auto slow = std::make_shared<slow_participant>();
    auto how = config();
    how.participants["wallet"] = slow;
    how.breaker_failures = 1'000'000;  // tries that are cut short are no failures here
    open(how);
    std::size_t confirmed = 0;
    for (int i = 0; i < 20; ++i) {
        std::vector<std::future<txn::outcome>> running;
        for (int k = 0; k < 50; ++k) {
            auto transaction = of_both();
            transaction.deadline(50ms);
            running.push_back(tcc_->async_run(std::move(transaction), asio::use_future));
        }
        for (auto& each : running) {
            const auto outcome = each.get();
            ASSERT_FALSE(outcome.unknown());
            EXPECT_TRUE(outcome.confirmed() || outcome.why() == txn::errc::deadline)
                << outcome.why();
            EXPECT_EQ(settled(outcome.gid()).confirmed(), outcome.confirmed());
            const auto end = outcome.confirmed() ? txn::operation::confirm : txn::operation::cancel;
            EXPECT_TRUE(slow->ended_by(outcome.gid(), end)) << outcome.gid().text();
            confirmed += outcome.confirmed();
        }
    }
    EXPECT_GT(confirmed, 0u);
    EXPECT_LT(confirmed, 1'000u);
}

}  // namespace
}  // namespace mortise::test::deadline_race_test
