// SPDX-License-Identifier: BSL-1.0
// What a coordinator does besides: it forgets what is long over, and finishes what it finds without
// waiting for who does not answer.
#include "unit/txn/coordinator_fixture.hpp"

#include <algorithm>
#include <future>
#include <string>
#include <vector>

namespace mortise::test::housekeeping_test {
namespace {

using namespace std::chrono_literals;
using txn::reply;

class TxnHousekeeping : public coordinator_fixture {
protected:
    static txn::transaction of(const std::string& participant) {
        txn::transaction transaction;
        transaction.add(participant, "");
        return transaction;
    }
    void run_many(std::size_t count, const txn::transaction& transaction) {
        std::vector<std::future<txn::outcome>> running;
        for (std::size_t i = 0; i < count; ++i)
            running.push_back(tcc_->async_run(transaction, asio::use_future));
        for (auto& each : running)
            EXPECT_TRUE(each.get().confirmed());
    }
    error_code code_for(const txn::gid& gid) {
        return code_of([&] { static_cast<void>(asked(gid)); });
    }
};

TEST_F(TxnHousekeeping, ForgetsWhatIsOverWhenItsRetentionIs) {
    auto how = config();
    how.retention = 0ms;
    open(how);
    auto first = of_both();
    first.key("order 1");
    const auto outcome = run(first);
    static_cast<void>(settled(outcome.gid()));
    EXPECT_FALSE(code_for(outcome.gid()));
    run_many(600, of("stock"));
    ASSERT_TRUE(eventually([&] { return tcc_->stats().forgotten > 200; }));
    EXPECT_EQ(code_for(outcome.gid()), txn::errc::not_open) << "that is not: it never existed";
    EXPECT_EQ(code_for({outcome.gid().log, 100'000}), txn::errc::bad_gid);
    const auto again = run(first);
    EXPECT_TRUE(again.confirmed());
    EXPECT_GT(again.gid().number, outcome.gid().number) << "a number is never used again";
}

TEST_F(TxnHousekeeping, KeepsWhatIsNotOverHoweverOldItIs) {
    auto how = config();
    how.retention = 0ms;
    wallet_->answer_by(refusing(txn::operation::confirm, "no"));
    open(how);
    const auto stuck = run(of_both());
    run_many(600, of("stock"));
    ASSERT_TRUE(eventually([&] { return tcc_->stats().forgotten > 200; }));
    ASSERT_TRUE(eventually([&] { return tcc_->stats().ended == 600; }));
    EXPECT_TRUE(asked(stuck.gid()).confirmed());
    wallet_->answer_by({});
    tcc_.reset();
    open(how);
    EXPECT_TRUE(settled(stuck.gid()).confirmed()) << "though it has only begun to open its log";
    EXPECT_EQ(tcc_->stats().ended, 1u);
}

TEST_F(TxnHousekeeping, RemembersForAsLongAsItIsTold) {
    open();
    const auto first = run(of_both());
    run_many(600, of("stock"));
    ASSERT_TRUE(eventually([&] { return tcc_->stats().ended == 601; }));
    EXPECT_EQ(tcc_->stats().forgotten, 0u);
    EXPECT_TRUE(asked(first.gid()).confirmed());
}

TEST_F(TxnHousekeeping, ParticipantsLearnWhatIsOver) {
    open();
    run_many(600, of("stock"));
    ASSERT_TRUE(eventually([&] {
        static_cast<void>(run(of_both()));
        return wallet_->calls().back().ended_below > 256;
    }));
    EXPECT_LE(wallet_->calls().back().ended_below, wallet_->calls().back().gid.number);
}

TEST_F(TxnHousekeeping, OneThatIsStuckKeepsNothingThatOthersRemember) {
    wallet_->answer_by(refusing(txn::operation::confirm, "no"));
    open();
    const auto stuck = run(of("wallet")).gid();
    run_many(600, of("stock"));
    ASSERT_TRUE(eventually([&] {
        static_cast<void>(run(of("stock")));
        return stock_->calls().back().ended_below > stuck.number + 256;
    }));
    static_cast<void>(run(of("wallet")));
    EXPECT_LE(wallet_->calls().back().ended_below, stuck.number) << "it still needs its row";
}

TEST_F(TxnHousekeeping, ManyThatAreStuckKeepNothingThatOthersRemember) {
    wallet_->answer_by(refusing(txn::operation::confirm, "no"));
    open();
    const auto first = run(of("wallet")).gid();
    run_many(1'200, of("wallet"));
    const auto last = run(of("wallet")).gid();
    run_many(1'000, of("stock"));
    ASSERT_TRUE(eventually([&] {
        static_cast<void>(run(of("stock")));
        return stock_->calls().back().ended_below > last.number;
    }));
    static_cast<void>(run(of("wallet")));
    EXPECT_LE(wallet_->calls().back().ended_below, first.number);
}

TEST_F(TxnHousekeeping, WhoIsAwayTakesNoPlaceFromOthers) {
    wallet_->limit(10);
    for (const auto each : {txn::operation::try_, txn::operation::cancel})
        wallet_->hold(each, true);
    auto how = config();
    how.open_max = how.waiting_max = 300;
    how.breaker_failures = 10;
    how.call_max = 50ms;
    how.deadline = 60s;
    how.retry_max = 10s;
    open(how);
    std::vector<std::future<txn::outcome>> running;
    for (int i = 0; i < 300; ++i)
        running.push_back(tcc_->async_run(of("wallet"), asio::use_future));
    // What was sent waits for its cancel. What was not goes back, and nothing new takes its place.
    const auto is_under_way = [](const auto& each) {
        return each.wait_for(0s) != std::future_status::ready;
    };
    EXPECT_TRUE(eventually([&] {
        const auto now = tcc_->stats();
        const auto left = std::count_if(running.begin(), running.end(), is_under_way);
        return now.calls_failed >= 10 && now.open <= 30 && left <= 30;
    }));
    EXPECT_EQ(refusal(of("wallet")), txn::errc::no_answer);
    for (int i = 0; i < 20; ++i)
        EXPECT_TRUE(run(of("stock")).confirmed());
    for (auto& each : running) {
        try {
            const auto outcome = each.get();
            EXPECT_TRUE(outcome.cancelled());
            EXPECT_EQ(outcome.why(), txn::errc::no_answer);
        } catch (const boost::system::system_error& failed) {
            EXPECT_EQ(failed.code(), txn::errc::no_answer);
        }
    }
    for (const auto each : {txn::operation::try_, txn::operation::cancel})
        wallet_->hold(each, false);
    static_cast<void>(settled(wallet_->calls().front().gid));
    EXPECT_TRUE(eventually([&] { return !refusal(of("wallet")); }));
}

// It answers, so its breaker stays closed.
TEST_F(TxnHousekeeping, WhoIsSlowTakesNoPlaceFromOthers) {
    wallet_->limit(2);
    wallet_->hold_tries(true);
    auto how = config();
    how.open_max = 8;
    how.deadline = how.call_max = 60s;
    open(how);
    std::vector<std::future<txn::outcome>> running;
    for (int i = 0; i < 6; ++i)
        running.push_back(tcc_->async_run(of("wallet"), asio::use_future));
    EXPECT_EQ(refusal(of("wallet")), txn::errc::too_many_open) << "three quarters of all places";
    EXPECT_EQ(refusal(of_both()), txn::errc::too_many_open);
    for (int i = 0; i < 20; ++i)
        EXPECT_TRUE(run(of("stock")).confirmed());
    wallet_->hold_tries(false);
    for (auto& each : running)
        EXPECT_TRUE(each.get().confirmed());
    EXPECT_TRUE(eventually([&] { return tcc_->stats().open == 0; }));
    EXPECT_TRUE(run(of_both()).confirmed());
}

TEST_F(TxnHousekeeping, WhoAsksForTimeTakesNoPlaceFromOthers) {
    wallet_->answer_by([](const txn::call& request) -> result<reply> {
        return request.type == txn::operation::confirm ? reply::again(1h) : reply::done();
    });
    auto how = config();
    how.open_max = 20;
    how.waiting_max = 5;
    open(how);
    auto many_branches = of("wallet");
    for (int i = 0; i < 10; ++i)
        many_branches.add("wallet", "");
    std::vector<txn::gid> waiting;
    for (int i = 0; i < 5; ++i)
        waiting.push_back(run(i == 0 ? many_branches : of("wallet")).gid());
    EXPECT_EQ(refusal(of("wallet")), txn::errc::too_many_open) << "five transactions wait for it";
    for (int i = 0; i < 20; ++i)
        EXPECT_TRUE(run(of("stock")).confirmed());
    wallet_->answer_by({});
    for (const auto& each : waiting)
        EXPECT_TRUE(settled(each).confirmed());
    EXPECT_TRUE(run(of("wallet")).confirmed());
}

TEST_F(TxnHousekeeping, ATryThatNeverLeftTakesNoTurnForItsCancel) {
    wallet_->limit(1);
    wallet_->hold_tries(true);
    auto how = config();
    how.deadline = how.call_max = 60s;
    open(how);
    auto first = tcc_->async_run(of("wallet"), asio::use_future);
    ASSERT_TRUE(eventually([&] { return wallet_->calls().size() == 1; }));
    auto hasty = of("wallet");
    hasty.deadline(20ms);
    const auto second = run(hasty);
    EXPECT_EQ(second.why(), txn::errc::deadline);
    EXPECT_TRUE(settled(second.gid()).cancelled()) << "though the first one still has the turn";
    EXPECT_EQ(wallet_->operations(), "try");
    wallet_->hold_tries(false);
    EXPECT_TRUE(first.get().confirmed());
}

TEST_F(TxnHousekeeping, OfManyThatAreStuckOnlySomeAreKeptInMemory) {
    wallet_->answer_by(refusing(txn::operation::confirm, "no"));
    auto how = config();
    how.stuck_max = 5;
    open(how);
    run_many(50, of("wallet"));
    ASSERT_TRUE(eventually([&] { return tcc_->stats().stuck == 50 && tcc_->stats().open == 5; }));
    const auto stuck = [&] {
        return tcc_->async_list(txn::list_filter::stuck, 0, 100, asio::use_future).get();
    };
    ASSERT_TRUE(eventually([&] { return stuck().size() == 50; })) << "the log has them all";
    const auto all = stuck();
    const auto intervene = [&](std::size_t index, txn::intervention::kind kind) {
        txn::intervention order;
        order.type = kind;
        order.gid = all[index].gid;
        tcc_->async_intervene(order, asio::use_future).get();
    };
    const auto calls = wallet_->calls().size();
    for (std::size_t i = 0; i < 20; ++i)
        intervene(i, txn::intervention::kind::skip);
    ASSERT_TRUE(eventually([&] { return tcc_->stats().ended == 20; }));
    EXPECT_EQ(wallet_->calls().size(), calls) << "nobody is called for what is skipped";
    wallet_->answer_by({});
    for (std::size_t i = 20; i < 40; ++i)
        intervene(i, txn::intervention::kind::retry);
    ASSERT_TRUE(eventually([&] { return tcc_->stats().ended == 40; }));
    for (std::size_t i = 40; i < 50; ++i)
        EXPECT_TRUE(settled(all[i].gid).confirmed()) << "who waits for it has it asked";
    EXPECT_EQ(tcc_->stats().open, 0u);
    EXPECT_TRUE(stuck().empty());
}

TEST_F(TxnHousekeeping, AfterARestartTheyAreAskedOnceMoreAndPutAsideAgain) {
    wallet_->answer_by(refusing(txn::operation::confirm, "no"));
    auto how = config();
    how.stuck_max = 5;
    open(how);
    run_many(50, of("wallet"));
    ASSERT_TRUE(eventually([&] { return tcc_->stats().stuck == 50 && tcc_->stats().open == 5; }));
    tcc_.reset();
    open(how);
    ASSERT_TRUE(eventually([&] { return tcc_->stats().stuck == 50 && tcc_->stats().open == 5; }));
    EXPECT_TRUE(run(of("stock")).confirmed());
}

// Waiting for its turn is no time of the call.
TEST_F(TxnHousekeeping, ABurstBreaksNobodyWhoIsSlow) {
    wallet_->limit(2);
    wallet_->hold_tries(true);
    auto how = config();
    how.deadline = how.call_max = 60s;  // the others write to the disk meanwhile
    how.try_attempts_max = 1;
    open(how);
    std::vector<std::future<txn::outcome>> running;
    for (int i = 0; i < 6; ++i)
        running.push_back(tcc_->async_run(of("wallet"), asio::use_future));
    ASSERT_TRUE(eventually([&] { return wallet_->calls().size() == 2; }));
    for (int i = 0; i < 20; ++i)
        EXPECT_TRUE(run(of("stock")).confirmed());
    EXPECT_EQ(wallet_->calls().size(), 2u) << "the others wait here";
    wallet_->hold_tries(false);
    for (auto& each : running)
        EXPECT_TRUE(each.get().confirmed());
}

TEST_F(TxnHousekeeping, WhoDoesNotAnswerKeepsNobodyWaitingAfterARestart) {
    const auto deaf = [](const txn::call& call) -> result<reply> {
        if (call.type == txn::operation::confirm)
            return error_code(txn::errc::call_failed);
        return reply::done();
    };
    stock_->answer_by(deaf);
    wallet_->answer_by(deaf);
    auto how = config();
    how.retry_first = how.retry_max = 2s;
    how.breaker_failures = 1'000'000;  // else not all would be begun
    open(how);
    run_many(3'000, of("stock"));
    run_many(20, of("wallet"));
    tcc_.reset();
    wallet_->answer_by({});
    how.breaker_failures = config().breaker_failures;
    open(how);
    EXPECT_TRUE(eventually([&] { return tcc_->stats().ended == 20; }));
    EXPECT_TRUE(eventually([&] { return tcc_->stats().taken_up == 3'020; }));
    EXPECT_LT(tcc_->stats().calls, 500u) << "the breaker opens long before all have been called";
    stock_->answer_by({});
    const auto any = stock_->calls().at(0).gid;
    EXPECT_TRUE(settled(any).confirmed());
    EXPECT_TRUE(eventually([&] { return tcc_->stats().ended == 3'020; }, 60s));
}

TEST_F(TxnHousekeeping, WhoAsksForTimeKeepsNobodyWaitingAfterARestart) {
    const auto busy = [](const txn::call& call) -> result<reply> {
        return call.type == txn::operation::confirm ? reply::again(1h) : reply::done();
    };
    stock_->answer_by(busy);
    wallet_->answer_by(busy);
    auto how = config();
    how.partitions = 1;
    open(how);
    run_many(2'000, of("stock"));
    run_many(20, of("wallet"));
    tcc_.reset();
    wallet_->answer_by({});
    open(how);
    EXPECT_TRUE(eventually([&] { return tcc_->stats().ended == 20; }));
    EXPECT_TRUE(eventually([&] { return tcc_->stats().taken_up == 2'020; }));
    stock_->answer_by({});
    EXPECT_TRUE(settled(stock_->calls().at(0).gid).confirmed());
}

TEST_F(TxnHousekeeping, WhoAsksForAllTheTimeThereIsIsNotCalledAtOnce) {
    wallet_->answer_by([](const txn::call& call) -> result<reply> {
        return call.type == txn::operation::confirm ? reply::again(std::chrono::milliseconds::max())
                                                    : reply::done();
    });
    open();
    const auto outcome = run(of_both());
    ASSERT_TRUE(eventually([&] { return wallet_->calls().size() == 2; }));
    EXPECT_FALSE(eventually([&] { return wallet_->calls().size() > 2; }, 50ms));
    wallet_->answer_by({});
    EXPECT_TRUE(settled(outcome.gid()).confirmed()) << "who waits for its end has it hurry";
}

}  // namespace
}  // namespace mortise::test::housekeeping_test
