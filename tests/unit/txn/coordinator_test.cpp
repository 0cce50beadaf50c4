// SPDX-License-Identifier: BSL-1.0
#include "support/machine_delay.hpp"
#include "unit/txn/coordinator_fixture.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

namespace mortise::test::coordinator_test {
namespace {

using namespace std::chrono_literals;
using txn::coordinator;
using txn::outcome;
using txn::reply;
using txn::transaction;

class TxnCoordinator : public coordinator_fixture {};

TEST_F(TxnCoordinator, ConfirmsWhatEveryParticipantHasTried) {
    open();
    const auto outcome = run(of_both());
    EXPECT_TRUE(outcome.confirmed());
    EXPECT_TRUE(outcome.gid());
    EXPECT_TRUE(settled(outcome.gid()).confirmed());
    EXPECT_EQ(stock_->operations(), "try confirm");
    EXPECT_EQ(wallet_->operations(), "try confirm");
    const auto first = stock_->calls().at(0);
    EXPECT_EQ(first.gid, outcome.gid());
    EXPECT_EQ(first.branch, 1u);
    EXPECT_EQ(first.attempt, 1u);
    EXPECT_EQ(first.participant, "stock");
    EXPECT_EQ(first.payload, "two apples");
    EXPECT_GT(first.epoch, 0u);
    EXPECT_GT(first.time_left, 5s);
    EXPECT_EQ(wallet_->calls().at(1).payload, "five euros");
    const auto stats = tcc_->stats();
    EXPECT_EQ(stats.begun, 1u);
    EXPECT_EQ(stats.confirmed, 1u);
    EXPECT_EQ(stats.ended, 1u);
    EXPECT_EQ(stats.calls, 4u);
    EXPECT_EQ(stats.open, 0u);
}

TEST_F(TxnCoordinator, CancelsWhatOneParticipantRefuses) {
    wallet_->answer_by(refusing(txn::operation::try_, "no money"));
    open();
    const auto outcome = run(of_both());
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(outcome.why(), txn::errc::refused);
    EXPECT_EQ(outcome.text(), "no money");
    EXPECT_TRUE(settled(outcome.gid()).cancelled());
    EXPECT_EQ(stock_->operations(), "try cancel");
    EXPECT_EQ(wallet_->operations(), "try");
}

TEST_F(TxnCoordinator, RepeatsATryThatHasNoClearAnswer) {
    wallet_->answer_by([n = 0](const txn::call& call) mutable -> result<reply> {
        if (call.type == txn::operation::try_ && ++n < 3)
            throw std::runtime_error("the network is down");
        return reply::done();
    });
    open();
    const auto outcome = run(of_both());
    EXPECT_TRUE(outcome.confirmed());
    static_cast<void>(settled(outcome.gid()));
    EXPECT_EQ(wallet_->operations(), "try try try confirm");
    EXPECT_EQ(wallet_->calls().at(2).attempt, 3u);
    EXPECT_EQ(tcc_->stats().calls_failed, 2u);
}

TEST_F(TxnCoordinator, CancelsWhatGivesNoAnswerHoweverOftenItIsAsked) {
    wallet_->answer_by([](const txn::call& call) -> result<reply> {
        if (call.type == txn::operation::try_)
            return error_code(txn::errc::call_failed);
        return reply::done();
    });
    open();
    const auto outcome = run(of_both());
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(outcome.why(), txn::errc::no_answer);
    static_cast<void>(settled(outcome.gid()));
    EXPECT_EQ(wallet_->operations(), "try try try try try cancel") << "it may have succeeded";
}

TEST_F(TxnCoordinator, AsksATryAsOftenAsItsTransactionSays) {
    wallet_->answer_by([](const txn::call& call) -> result<reply> {
        if (call.type == txn::operation::try_)
            return error_code(txn::errc::call_failed);
        return reply::done();
    });
    open();
    auto transaction = of_both();
    transaction.try_attempts(2);
    const auto outcome = run(std::move(transaction));
    EXPECT_EQ(outcome.why(), txn::errc::no_answer);
    static_cast<void>(settled(outcome.gid()));
    EXPECT_EQ(wallet_->operations(), "try try cancel");
    const auto usual = run(of_both());
    static_cast<void>(settled(usual.gid()));
    EXPECT_EQ(wallet_->operations(), "try try cancel try try try try try cancel") << "five times";
}

TEST_F(TxnCoordinator, WhoWaitsForAnEndMayGiveUp) {
    wallet_->answer_by([](const txn::call& call) -> result<reply> {
        return call.type == txn::operation::confirm ? reply::again(std::chrono::hours(1))
                                                    : reply::done();
    });
    open();
    const auto gid = run(of_both()).gid();
    asio::cancellation_signal stop;
    auto waiting = tcc_->async_settle(
        gid, asio::bind_cancellation_slot(stop.slot(), asio::as_tuple(asio::use_future))
    );
    auto patient = tcc_->async_settle(gid, asio::use_future);
    asio::post(context_, [&] { stop.emit(asio::cancellation_type::total); });
    const auto [failed, unknown] = waiting.get();
    EXPECT_EQ(failed, asio::error::operation_aborted);
    EXPECT_TRUE(unknown.unknown());
    wallet_->answer_by({});
    EXPECT_TRUE(settled(gid).confirmed());
    EXPECT_TRUE(patient.get().confirmed()) << "who was there before waits on";
    asio::post(context_, [&] { stop.emit(asio::cancellation_type::terminal); });
    EXPECT_TRUE(asked(gid).confirmed());
}

TEST_F(TxnCoordinator, CancelsWhenTheTimeIsUp) {
    wallet_->hold_tries(true);
    open();
    auto transaction = of_both();
    transaction.deadline(50ms);
    const machine_delay delay;
    const auto before = clock::now();
    const auto outcome = run(std::move(transaction));
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(outcome.why(), txn::errc::deadline);
    EXPECT_GE(clock::now() - before, 50ms);
    EXPECT_LT(clock::now() - before, 5s + delay.so_far());
    EXPECT_TRUE(settled(outcome.gid()).cancelled());
    EXPECT_EQ(wallet_->operations(), "try cancel");
}

TEST_F(TxnCoordinator, KeepsTheDeclaredOrder) {
    std::string order;
    std::mutex mutex;
    const auto noting = [&](const txn::call& call) -> result<reply> {
        const std::lock_guard guard(mutex);
        order += std::string(to_string(call.type)) + std::to_string(call.branch) + ' ';
        return reply::done();
    };
    stock_->answer_by(noting);
    wallet_->answer_by(noting);
    open();
    transaction transaction;
    const auto first = transaction.add("stock", "");
    const auto second = transaction.add("wallet", "", {first});
    transaction.add("stock", "", {first, second});
    const auto outcome = run(std::move(transaction));
    static_cast<void>(settled(outcome.gid()));
    EXPECT_EQ(order, "try1 try2 try3 confirm1 confirm2 confirm3 ");
}

TEST_F(TxnCoordinator, AConfirmIsRepeatedUntilItSucceeds) {
    wallet_->answer_by([n = 0](const txn::call& call) mutable -> result<reply> {
        if (call.type == txn::operation::confirm && ++n < 4)
            return error_code(txn::errc::call_failed);
        return reply::done();
    });
    open();
    const auto outcome = run(of_both());
    EXPECT_TRUE(outcome.confirmed());
    static_cast<void>(settled(outcome.gid()));
    EXPECT_EQ(wallet_->operations(), "try confirm confirm confirm confirm");
}

TEST_F(TxnCoordinator, ARefusedConfirmIsStuckAndNotRepeated) {
    wallet_->answer_by(refusing(txn::operation::confirm, "the account is closed"));
    open();
    const auto outcome = run(of_both());
    EXPECT_TRUE(outcome.confirmed());
    ASSERT_TRUE(eventually([&] { return tcc_->stats().stuck == 1; }));
    EXPECT_FALSE(eventually([&] { return wallet_->calls().size() > 2; }, 100ms));
    EXPECT_EQ(wallet_->operations(), "try confirm");
    EXPECT_EQ(stock_->operations(), "try confirm");
    EXPECT_EQ(tcc_->stats().open, 1u) << "it has not ended";
    EXPECT_TRUE(asked(outcome.gid()).confirmed());
}

TEST_F(TxnCoordinator, TheSameKeyHasTheSameOutcome) {
    open();
    auto first = of_both();
    first.key("order 7");
    const auto outcome = run(first);
    const auto again = run(first);
    EXPECT_TRUE(again.confirmed());
    EXPECT_EQ(again.gid(), outcome.gid());
    EXPECT_EQ(tcc_->stats().begun, 1u);
    auto other = of_both();
    other.add("stock", "another");
    other.key("order 7");
    EXPECT_EQ(refusal(std::move(other)), txn::errc::key_reused);
}

TEST_F(TxnCoordinator, WhyItWasCancelledIsSaidLaterToo) {
    wallet_->answer_by([](const txn::call&) { return txn::reply::refused("no money"); });
    open();
    auto transaction = of_both();
    transaction.key("order 9");
    const auto outcome = run(transaction);
    EXPECT_EQ(outcome.text(), "no money");
    const auto asked = tcc_->async_outcome(outcome.gid(), asio::use_future).get();
    EXPECT_EQ(asked.why(), txn::errc::refused);
    EXPECT_EQ(asked.text(), "no money");
    const auto again = run(transaction);
    EXPECT_EQ(again.gid(), outcome.gid());
    EXPECT_EQ(again.text(), "no money");
}

TEST_F(TxnCoordinator, TheSameKeyAtTheSameTimeIsOneTransaction) {
    wallet_->hold_tries(true);
    open();
    auto transaction = of_both();
    transaction.key("order 8");
    auto first = tcc_->async_run(transaction, asio::use_future);
    ASSERT_TRUE(eventually([&] { return wallet_->calls().size() == 1; }));
    auto second = tcc_->async_run(transaction, asio::use_future);
    EXPECT_FALSE(eventually([&] { return wallet_->calls().size() > 1; }, 20ms));
    wallet_->hold_tries(false);
    EXPECT_EQ(first.get().gid(), second.get().gid());
    EXPECT_EQ(tcc_->stats().begun, 1u);
}

TEST_F(TxnCoordinator, WhoJoinedByAKeyCannotCancelForTheOther) {
    wallet_->hold_tries(true);
    open();
    auto transaction = of_both();
    transaction.key("order 9");
    auto first = tcc_->async_run(transaction, asio::use_future);
    ASSERT_TRUE(eventually([&] { return wallet_->calls().size() == 1; }));
    asio::cancellation_signal signal;
    auto second =
        tcc_->async_run(transaction, asio::bind_cancellation_slot(signal.slot(), asio::use_future));
    signal.emit(asio::cancellation_type::terminal);
    EXPECT_EQ(first.wait_for(20ms), std::future_status::timeout);
    wallet_->hold_tries(false);
    EXPECT_TRUE(first.get().confirmed());
    EXPECT_TRUE(second.get().confirmed());
}

TEST_F(TxnCoordinator, TakesOnlySoManyAtATime) {
    wallet_->hold_tries(true);
    auto how = config();
    how.open_max = 2;
    open(how);
    auto first = tcc_->async_run(of_both(), asio::use_future);
    auto second = tcc_->async_run(of_both(), asio::use_future);
    EXPECT_EQ(refusal(of_both()), txn::errc::too_many_open);
    wallet_->hold_tries(false);
    EXPECT_TRUE(first.get().confirmed());
    EXPECT_TRUE(second.get().confirmed());
    ASSERT_TRUE(eventually([&] { return tcc_->stats().open == 0; }));
    EXPECT_TRUE(run(of_both()).confirmed());
}

TEST_F(TxnCoordinator, ACallThatTakesTooLongIsCancelledAndRepeated) {
    wallet_->hold_tries(true);
    auto how = config();
    how.call_max = 20ms;
    how.try_attempts_max = 3;
    open(how);
    const auto outcome = run(of_both());
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(outcome.why(), txn::errc::no_answer);
    EXPECT_EQ(outcome.text(), error_code(txn::errc::call_too_late).message());
    EXPECT_TRUE(settled(outcome.gid()).cancelled());
    EXPECT_EQ(wallet_->operations(), "try try try cancel");
}

TEST_F(TxnCoordinator, WhoGivesUpBeforeTheDecisionCancels) {
    wallet_->hold_tries(true);
    open();
    asio::cancellation_signal signal;
    auto running =
        tcc_->async_run(of_both(), asio::bind_cancellation_slot(signal.slot(), asio::use_future));
    ASSERT_TRUE(eventually([&] { return wallet_->calls().size() == 1; }));
    signal.emit(asio::cancellation_type::total);
    const auto outcome = running.get();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(outcome.why(), txn::errc::withdrawn);
    EXPECT_TRUE(settled(outcome.gid()).cancelled());
    EXPECT_EQ(stock_->operations(), "try cancel");
}

TEST_F(TxnCoordinator, WhatWasUndecidedWhenItEndedIsCancelledByTheNext) {
    wallet_->hold_tries(true);
    open();
    auto running = tcc_->async_run(of_both(), asio::use_future);
    ASSERT_TRUE(eventually([&] { return wallet_->calls().size() == 1; }));
    const auto gid = wallet_->calls().at(0).gid;
    tcc_.reset();
    EXPECT_TRUE(running.get().unknown());
    wallet_->hold_tries(false);
    open();
    ASSERT_TRUE(eventually([&] { return tcc_->stats().ended == 1; }));
    const auto outcome = asked(gid);
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(outcome.why(), txn::errc::interrupted);
    EXPECT_EQ(stock_->operations(), "try cancel");
    EXPECT_EQ(wallet_->operations(), "try cancel");
    EXPECT_GT(wallet_->calls().at(1).epoch, wallet_->calls().at(0).epoch);
    EXPECT_EQ(wallet_->calls().at(1).term, wallet_->calls().at(0).term) << "of its beginning";
}

TEST_F(TxnCoordinator, WhatWasDecidedWhenItEndedIsFinishedByTheNext) {
    wallet_->answer_by([](const txn::call& call) -> result<reply> {
        if (call.type == txn::operation::confirm)
            return error_code(txn::errc::call_failed);
        return reply::done();
    });
    open();
    const auto outcome = run(of_both());
    EXPECT_TRUE(outcome.confirmed());
    ASSERT_TRUE(eventually([&] { return wallet_->calls().size() >= 3; }));
    tcc_.reset();
    wallet_->answer_by({});
    open();
    ASSERT_TRUE(eventually([&] { return tcc_->stats().ended == 1; }));
    EXPECT_TRUE(asked(outcome.gid()).confirmed());
    EXPECT_TRUE(wallet_->operations().starts_with("try confirm"));
    EXPECT_EQ(wallet_->operations().find("cancel"), std::string::npos);
}

TEST_F(TxnCoordinator, ANewerCoordinatorTakesOverAndTheOldOneWritesNothing) {
    wallet_->hold_tries(true);
    open();
    auto running = tcc_->async_run(of_both(), asio::use_future);
    ASSERT_TRUE(eventually([&] { return wallet_->calls().size() == 1; }));
    {
        coordinator newer(context_.get_executor(), config());
        ASSERT_TRUE(eventually([&] { return newer.stats().taken_up == 1; }));
        wallet_->hold_tries(false);
        const auto outcome = running.get();
        EXPECT_TRUE(outcome.unknown());
        EXPECT_EQ(outcome.why(), txn::errc::stepped_down);
        EXPECT_EQ(refusal(of_both()), txn::errc::stepped_down);
        ASSERT_TRUE(eventually([&] { return newer.stats().ended == 1; }));
        EXPECT_TRUE(newer.async_outcome(outcome.gid(), asio::use_future).get().cancelled());
        newer.async_stop(asio::use_future).get();
    }
    EXPECT_EQ(wallet_->operations().find("confirm"), std::string::npos);
}

TEST_F(TxnCoordinator, StoppingCancelsWhatIsUndecided) {
    wallet_->hold_tries(true);
    open();
    auto running = tcc_->async_run(of_both(), asio::use_future);
    ASSERT_TRUE(eventually([&] { return wallet_->calls().size() == 1; }));
    auto stopping = tcc_->async_stop(asio::use_future);
    const auto outcome = running.get();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(outcome.why(), txn::errc::withdrawn);
    stopping.get();
    EXPECT_EQ(wallet_->operations(), "try") << "cancels are for whoever comes next";
    EXPECT_EQ(refusal(of_both()), txn::errc::stopped);
}

TEST_F(TxnCoordinator, KnowsWhatItNeverHeardOf) {
    open();
    const auto outcome = run(of_both());
    const auto code_for = [&](const txn::gid& gid) {
        return code_of([&] { static_cast<void>(asked(gid)); });
    };
    EXPECT_EQ(code_for({outcome.gid().log, 1'000}), txn::errc::bad_gid);
    EXPECT_EQ(code_for({outcome.gid().log, 0}), txn::errc::bad_gid) << "the first one has number 1";
    EXPECT_EQ(code_for({outcome.gid().log + 1, outcome.gid().number}), txn::errc::bad_gid);
    EXPECT_EQ(code_for(outcome.gid()), error_code());
}

TEST_F(TxnCoordinator, RefusesWhatCannotBeCarriedOut) {
    auto how = config();
    how.payload_max = 10;
    open(how);
    EXPECT_EQ(refusal(transaction()), txn::errc::no_branches);
    transaction plan;
    plan.add("nobody", "");
    EXPECT_EQ(refusal(plan), txn::errc::unknown_participant);
    plan = transaction();
    plan.add("stock", "eleven bytes");
    EXPECT_EQ(refusal(plan), txn::errc::payload_too_large);
    plan = transaction();
    plan.add("stock", "", {1});
    EXPECT_EQ(refusal(plan), txn::errc::bad_order);
    plan = transaction();
    for (int i = 0; i < 1'025; ++i)
        plan.add("stock", "");
    EXPECT_EQ(refusal(plan), txn::errc::too_many_branches);
    plan = transaction();
    plan.add("stock", "");
    plan.key("");
    EXPECT_EQ(refusal(plan), txn::errc::bad_key);
    EXPECT_EQ(stock_->operations(), "");
}

}  // namespace
}  // namespace mortise::test::coordinator_test
