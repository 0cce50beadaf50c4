// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/event.hpp"
#include "mortise/txn/barrier.hpp"
#include "mortise/txn/error.hpp"
#include "mortise/txn/overdue_sweeper.hpp"
#include "support/eventually.hpp"
#include "support/scratch_folder.hpp"
#include "unit/txn_http/server_thread.hpp"

#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace mortise::test::sweeper_test {
namespace {

using std::chrono::milliseconds;

/// Answers as the test wishes.
class scripted_source final : public txn::outcome_source {
public:
    using answer_function = std::function<result<txn::standing>(txn::gid)>;

    asio::awaitable<result<txn::standing>> settle(txn::gid gid) override {
        answer_function answer;
        {
            const std::lock_guard hold(mutex_);
            asked_.push_back(gid);
            answer = answer_;
        }
        if (!answer) {  // it hangs
            coro::event never(co_await asio::this_coro::executor);
            co_await never.async_wait();
        }
        co_return answer(gid);
    }

    void answer_by(answer_function answer) {
        const std::lock_guard hold(mutex_);
        answer_ = std::move(answer);
    }
    std::vector<txn::gid> asked() const {
        const std::lock_guard hold(mutex_);
        return asked_;
    }

private:
    mutable std::mutex mutex_;
    std::vector<txn::gid> asked_;
    answer_function answer_;
};

class TxnSweeper : public testing::Test {
protected:
    ~TxnSweeper() override {
        if (sweeper_)
            sweeper_->async_stop(asio::use_future).get();
        sweeper_.reset();
        shop_.async_stop(asio::use_future).get();
        thread_.join();
    }

    static txn::sweeper_config config() {
        txn::sweeper_config config;
        config.look_every = milliseconds(2);
        config.ask_pause = milliseconds(1);
        config.ask_max = milliseconds(20);
        config.retry_first = milliseconds(1);
        config.retry_max = milliseconds(8);
        config.jitter_seed = 1;
        return config;
    }
    void begin(txn::sweeper_config how = config()) {
        sweeper_.emplace(thread_.context.get_executor(), shop_, source_, std::move(how));
    }

    result<txn::reply>
    call(txn::operation operation, std::uint64_t number, milliseconds left = milliseconds(0)) {
        txn::call request;
        request.type = operation;
        request.gid = {42, number};
        request.branch = 1;
        request.attempt = 1;
        request.participant = "stock";
        request.time_left = left;
        auto work = [request](db::connection& on) {
            return txn::barrier::pass(on, request, [] { return txn::reply::done(); });
        };
        return shop_.async_run(work, db::durability::lazy, asio::use_future).get();
    }
    std::size_t overdue() {
        auto work = [](db::connection& on) { return txn::barrier::overdue(on, 1'000).size(); };
        return shop_.async_run(work, db::durability::lazy, asio::use_future).get();
    }
    void reserve(std::uint64_t number) { ASSERT_TRUE(call(txn::operation::try_, number)); }

    const scratch_folder folder_;
    server_thread thread_;
    db::sqlite shop_{thread_.context.get_executor(), [this] {
                         db::sqlite_config config;
                         config.path = folder_.path() / "shop.db";
                         return config;
                     }()};
    std::shared_ptr<scripted_source> source_ = std::make_shared<scripted_source>();
    std::optional<txn::overdue_sweeper> sweeper_;
};

TEST_F(TxnSweeper, AsksForAReservationUntilItIsFinished) {
    reserve(7);
    ASSERT_TRUE(eventually([&] { return overdue() == 1; }));
    source_->answer_by([](txn::gid) { return txn::standing::confirmed; });
    begin();
    ASSERT_TRUE(eventually([&] { return source_->asked().size() >= 3; }));
    EXPECT_EQ(overdue(), 1u) << "it finishes nothing by itself";
    ASSERT_TRUE(call(txn::operation::confirm, 7));
    ASSERT_TRUE(eventually([&] { return sweeper_->stats().overdue == 0; }));
    const auto asked = source_->asked();
    const auto looks = sweeper_->stats().looks;
    ASSERT_TRUE(eventually([&] { return sweeper_->stats().looks > looks + 5; }));
    EXPECT_EQ(source_->asked().size(), asked.size());
    for (const auto& each : asked)
        EXPECT_EQ(each, (txn::gid{42, 7}));
    EXPECT_EQ(sweeper_->stats().unreachable, 0u);
}

TEST_F(TxnSweeper, KeepsTheReservationWhileNobodyCanBeAsked) {
    reserve(7);
    source_->answer_by([](txn::gid) { return error_code(txn::errc::call_failed); });
    begin();
    ASSERT_TRUE(eventually([&] { return sweeper_->stats().unreachable >= 5; }));
    EXPECT_EQ(overdue(), 1u);
    source_->answer_by([](txn::gid) { return txn::standing::cancelled; });
    const auto before = sweeper_->stats();
    ASSERT_TRUE(eventually([&] {
        const auto now = sweeper_->stats();
        return now.asked > before.asked + 2 && now.unreachable <= before.unreachable + 1;
    })) << "it asks again";
    EXPECT_EQ(overdue(), 1u);
}

TEST_F(TxnSweeper, ACoordinatorThatKnowsNothingIsNoReasonToGiveBack) {
    reserve(7);
    source_->answer_by([](txn::gid) { return txn::standing::never_existed; });
    begin();
    ASSERT_TRUE(eventually([&] { return sweeper_->stats().unknown >= 2; }));
    EXPECT_EQ(overdue(), 1u);
}

TEST_F(TxnSweeper, AnAnswerThatDoesNotComeIsGivenUp) {
    reserve(7);
    begin();
    ASSERT_TRUE(eventually([&] { return sweeper_->stats().unreachable >= 2; }));
    EXPECT_EQ(overdue(), 1u);
}

TEST_F(TxnSweeper, LeavesAloneWhatIsNotOverdue) {
    ASSERT_TRUE(call(txn::operation::try_, 7, std::chrono::hours(1)));
    reserve(8);
    source_->answer_by([](txn::gid) { return txn::standing::confirmed; });
    begin();
    ASSERT_TRUE(eventually([&] { return source_->asked().size() >= 5; }));
    for (const auto& each : source_->asked())
        EXPECT_EQ(each.number, 8u);
}

TEST_F(TxnSweeper, LooksWhenTheNextOneBecomesOverdue) {
    ASSERT_TRUE(call(txn::operation::try_, 7, milliseconds(100)));
    auto how = config();
    how.look_every = std::chrono::hours(1);
    source_->answer_by([](txn::gid) { return txn::standing::confirmed; });
    begin(how);
    EXPECT_TRUE(eventually([&] { return !source_->asked().empty(); }));
    EXPECT_LE(sweeper_->stats().looks, 5u);
}

TEST_F(TxnSweeper, ManyAreAskedForAtABoundedRateAndNoneIsForgotten) {
    constexpr std::uint64_t many = 20;
    for (std::uint64_t i = 1; i <= many; ++i)
        reserve(i);
    ASSERT_TRUE(eventually([&] { return overdue() == many; }));
    auto how = config();
    how.ask_pause = milliseconds(10);
    how.retry_first = how.retry_max = std::chrono::hours(1);
    source_->answer_by([](txn::gid) { return txn::standing::confirmed; });
    const auto start = clock::now();
    begin(how);
    ASSERT_TRUE(eventually([&] { return source_->asked().size() == many; }));
    EXPECT_GE(clock::now() - start, how.ask_pause * (many - 1));
    const auto asked = source_->asked();
    for (std::uint64_t i = 1; i <= many; ++i)
        EXPECT_EQ(std::count(asked.begin(), asked.end(), txn::gid{42, i}), 1) << i;
}

TEST_F(TxnSweeper, ABadConfigurationIsRefused) {
    const auto refused = [&](auto change) {
        auto how = config();
        change(how);
        try {
            begin(how);
        } catch (const error& why) {
            return why.code() == errc::bad_config;
        }
        return false;
    };
    EXPECT_TRUE(refused([](auto& how) { how.look_every = milliseconds(0); }));
    EXPECT_TRUE(refused([](auto& how) { how.look_max = 0; }));
    EXPECT_TRUE(refused([](auto& how) { how.retry_max = milliseconds(0); }));
    EXPECT_TRUE(refused([](auto& how) { how.retry_first = milliseconds(9); }));
}

}  // namespace
}  // namespace mortise::test::sweeper_test
