// SPDX-License-Identifier: BSL-1.0
// Several coordinators on one log, which locks keep apart.
#include "mortise/store/memory.hpp"
#include "mortise/txn/coordinator.hpp"
#include "mortise/txn/operator_order.hpp"
#include "support/eventually.hpp"
#include "support/machine_delay.hpp"
#include "support/scratch_folder.hpp"
#include "unit/txn/coordinator_site.hpp"
#include "unit/txn/scripted_participant.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test::shared_log_test {
namespace {

using namespace std::chrono_literals;
using txn::outcome;
using txn::reply;

using site = coordinator_site;

constexpr auto ttl = coordinator_site::ttl;

class TxnSharedLog : public testing::Test {
protected:
    txn::coordinator_config config(std::uint32_t partitions = 1) const {
        txn::coordinator_config config;
        config.log = log();
        config.partitions = partitions;
        config.participants.emplace("stock", stock_);
        config.participants.emplace("wallet", wallet_);
        config.retry_first = 2ms;
        config.retry_max = 20ms;
        config.jitter_seed = 1;
        return config;
    }
    std::filesystem::path log() const { return folder_.path() / "log.db"; }

    std::unique_ptr<site>
    make_site(std::uint32_t partitions = 1, std::chrono::milliseconds lock_ttl = ttl) const {
        return std::make_unique<site>(locks_.make_store(), config(partitions), lock_ttl);
    }
    /// One that decides, and one that stands by.
    void make_two(std::chrono::milliseconds lock_ttl = ttl) {
        first_ = make_site(1, lock_ttl);
        ASSERT_TRUE(eventually([&] { return first_->partitions() == 1; }));
        second_ = make_site(1, lock_ttl);
    }

    static txn::transaction of_both() {
        txn::transaction transaction;
        transaction.add("stock", "");
        transaction.add("wallet", "");
        return transaction;
    }

    template <class T>
    static T wait_for(std::future<T> future) {
        EXPECT_EQ(future.wait_for(20s), std::future_status::ready);
        return future.get();
    }
    static outcome run(txn::coordinator& at, txn::transaction transaction = of_both()) {
        return wait_for(at.async_run(std::move(transaction), asio::use_future));
    }
    static txn::transaction of(const char* who) {
        txn::transaction plan;
        plan.add(who, "");
        return plan;
    }
    static error_code refusal(txn::coordinator& at, const txn::transaction& plan = of_both()) {
        try {
            static_cast<void>(run(at, plan));
        } catch (const boost::system::system_error& failed) {
            return failed.code();
        }
        return {};
    }

    const scratch_folder folder_;
    const memory_server locks_;
    std::shared_ptr<scripted_participant> stock_ = std::make_shared<scripted_participant>();
    std::shared_ptr<scripted_participant> wallet_ = std::make_shared<scripted_participant>();
    std::unique_ptr<site> first_;
    std::unique_ptr<site> second_;
};

TEST_F(TxnSharedLog, OneDecidesAndTheOtherStandsBy) {
    make_two();
    EXPECT_TRUE(run(**first_).confirmed());
    EXPECT_EQ(refusal(**second_), txn::errc::standby);
    EXPECT_EQ(second_->partitions(), 0u);
    const auto first_epoch = wallet_->calls().at(0).epoch;
    wait_for((*first_)->async_stop(asio::use_future));
    ASSERT_TRUE(eventually([&] { return second_->partitions() == 1; }));
    EXPECT_TRUE(run(**second_).confirmed());
    EXPECT_GT(wallet_->calls().back().epoch, first_epoch);
    EXPECT_EQ(refusal(**first_), txn::errc::stopped);
}

TEST_F(TxnSharedLog, WhoStandsByAnswersForWhatWasDecidedElsewhere) {
    make_two();
    const auto outcome = run(**first_);
    EXPECT_TRUE(wait_for((*second_)->async_outcome(outcome.gid(), asio::use_future)).confirmed());
    const auto shown = wait_for((*second_)->async_show(outcome.gid(), asio::use_future));
    ASSERT_TRUE(shown);
    EXPECT_EQ(shown->at, txn::standing::confirmed);
}

TEST_F(TxnSharedLog, PartitionsAreSharedEvenly) {
    first_ = make_site(6);
    ASSERT_TRUE(eventually([&] { return first_->partitions() == 6; }));
    second_ = make_site(1);
    EXPECT_TRUE(eventually([&] { return second_->partitions() == 3; }));
    EXPECT_TRUE(eventually([&] { return first_->partitions() == 3; }));
    const auto third = make_site();
    EXPECT_TRUE(eventually([&] {
        return first_->partitions() == 2 && second_->partitions() == 2 && third->partitions() == 2;
    }));
    for (auto* each : {first_.get(), second_.get(), third.get()}) {
        for (int i = 0; i < 4; ++i)
            EXPECT_TRUE(run(**each).confirmed());
    }
}

TEST_F(TxnSharedLog, AKeyIsOneTransactionWhereverItIsUsed) {
    first_ = make_site(2);
    second_ = make_site(2);
    ASSERT_TRUE(eventually([&] { return first_->partitions() == 1 && second_->partitions() == 1; })
    );
    wallet_->hold_tries(true);
    auto transaction = of_both();
    transaction.key("order 7");
    auto running = (*first_)->async_run(transaction, asio::use_future);
    ASSERT_TRUE(eventually([&] { return wallet_->calls().size() == 1; }));
    const auto elsewhere = run(**second_, transaction);
    EXPECT_TRUE(elsewhere.unknown());
    EXPECT_EQ(elsewhere.why(), txn::errc::standby);
    EXPECT_EQ(elsewhere.gid(), wallet_->calls().at(0).gid);
    wallet_->hold_tries(false);
    EXPECT_TRUE(wait_for(std::move(running)).confirmed());
    const auto again = run(**second_, transaction);
    EXPECT_TRUE(again.confirmed());
    EXPECT_EQ(again.gid(), elsewhere.gid());
    EXPECT_EQ(wallet_->operations().find("try", 3), std::string::npos) << "one try was enough";
}

// A process that is stopped, and goes on when its locks have long passed to another.
TEST_F(TxnSharedLog, AStoppedCoordinatorThatGoesOnWritesNothing) {
    make_two();
    wallet_->hold_tries(true);
    auto running = (*first_)->async_run(of_both(), asio::use_future);
    ASSERT_TRUE(eventually([&] { return wallet_->calls().size() == 1; }));
    first_->pause();
    wallet_->hold_tries(false);
    const machine_delay delay;
    const auto stopped = clock::now();
    ASSERT_TRUE(eventually([&] { return second_->partitions() == 1; }));
    EXPECT_LT(clock::now() - stopped, ttl + 1s + delay.so_far());
    ASSERT_TRUE(eventually([&] { return (*second_)->stats().ended == 1; }));
    first_->resume();
    const auto outcome = wait_for(std::move(running));
    EXPECT_TRUE(outcome.unknown());
    EXPECT_EQ(outcome.why(), txn::errc::stepped_down);
    EXPECT_EQ(refusal(**first_), txn::errc::standby);
    EXPECT_TRUE(wait_for((*first_)->async_outcome(outcome.gid(), asio::use_future)).cancelled());
    EXPECT_EQ(wallet_->operations().find("confirm"), std::string::npos);
    EXPECT_EQ(stock_->operations().find("confirm"), std::string::npos);
    // It stands for election again.
    wait_for((*second_)->async_stop(asio::use_future));
    ASSERT_TRUE(eventually([&] { return first_->partitions() == 1; }));
    EXPECT_TRUE(run(**first_).confirmed());
}

TEST_F(TxnSharedLog, WhoeverStopsHandsOverAtOnceWhateverIsUnderWay) {
    make_two(30s);  // No lock expires here, however busy the machine is.
    wallet_->hold_tries(true);
    constexpr std::size_t many = 500;
    std::vector<std::future<outcome>> running;
    for (std::size_t i = 0; i < many; ++i)
        running.push_back((*first_)->async_run(of_both(), asio::use_future));
    // On a busy machine some may not have begun yet: these end otherwise.
    ASSERT_TRUE(eventually([&] { return (*first_)->stats().begun == many; }));
    ASSERT_TRUE(eventually([&] { return wallet_->calls().size() >= 256; }));
    auto stopping = (*first_)->async_stop(asio::use_future);
    for (auto& each : running) {
        const auto outcome = wait_for(std::move(each));
        EXPECT_TRUE(outcome.cancelled()) << outcome.why().message();
    }
    wait_for(std::move(stopping));
    const machine_delay delay;
    const auto stopped = clock::now();
    ASSERT_TRUE(eventually([&] { return second_->partitions() == 1; }));
    EXPECT_LT(clock::now() - stopped, 500ms + delay.so_far())
        << "the lock is handed over, it need not expire";
    EXPECT_TRUE(eventually([&] {
        const auto open =
            wait_for((*second_)->async_list(txn::list_filter::unfinished, 0, 1, asio::use_future));
        return open.empty();
    }));
}

TEST_F(TxnSharedLog, WithoutTheLockServerNothingIsDecided) {
    memory_server server;
    auto how = config();
    first_ = std::make_unique<site>(server.make_store(), how);
    ASSERT_TRUE(eventually([&] { return first_->partitions() == 1; }));
    wallet_->hold_tries(true);
    auto running = (*first_)->async_run(of_both(), asio::use_future);
    ASSERT_TRUE(eventually([&] { return wallet_->calls().size() == 1; }));
    server.set_unavailable(true);
    ASSERT_TRUE(eventually([&] { return first_->partitions() == 0; }));
    EXPECT_TRUE(wait_for(std::move(running)).unknown());
    EXPECT_EQ(refusal(**first_), txn::errc::standby);
    server.set_unavailable(false);
    wallet_->hold_tries(false);
    ASSERT_TRUE(eventually([&] { return first_->partitions() == 1; }));
    EXPECT_TRUE(run(**first_).confirmed());
    ASSERT_TRUE(eventually([&] { return (*first_)->stats().ended == 2; }));
    const auto calls = wallet_->operations();
    EXPECT_NE(calls.find("cancel"), std::string::npos) << "that of before: " << calls;
    EXPECT_NE(calls.find("confirm"), std::string::npos) << calls;
}

TEST_F(TxnSharedLog, WhoeverEndsTransactionsForgetsThem) {
    auto how = config(2);
    how.retention = 0ms;
    first_ = std::make_unique<site>(locks_.make_store(), how);
    ASSERT_TRUE(eventually([&] { return first_->partitions() == 2; }));
    second_ = std::make_unique<site>(locks_.make_store(), how);
    ASSERT_TRUE(eventually([&] { return second_->partitions() == 1; }));
    std::vector<std::future<outcome>> running;
    for (int i = 0; i < 600; ++i)
        running.push_back((*second_)->async_run(of("stock"), asio::use_future));
    for (auto& each : running)
        EXPECT_TRUE(wait_for(std::move(each)).confirmed());
    EXPECT_TRUE(eventually([&] { return (*second_)->stats().forgotten > 200; }))
        << "the first partition is the other's, who has nothing to do";
}

TEST_F(TxnSharedLog, WhatIsStuckTakesNoRoomFromWhatCanBeFinished) {
    const auto deaf = [](const txn::call& call) -> result<reply> {
        if (call.type == txn::operation::confirm)
            return error_code(txn::errc::call_failed);
        return reply::done();
    };
    stock_->answer_by(deaf);
    wallet_->answer_by(deaf);
    first_ = make_site(2);
    ASSERT_TRUE(eventually([&] { return first_->partitions() == 2; }));
    constexpr std::size_t many = 100;
    std::vector<std::future<outcome>> running;
    for (std::size_t i = 0; i < many; ++i) {
        for (const char* who : {"stock", "wallet"})  // the partitions take turns
            running.push_back((*first_)->async_run(of(who), asio::use_future));
    }
    for (auto& each : running)
        EXPECT_TRUE(wait_for(std::move(each)).confirmed());
    first_.reset();
    stock_->answer_by({});
    wallet_->answer_by([](const txn::call&) -> result<reply> { return reply::refused("closed"); });
    auto how = config(2);
    how.open_max = 8;
    first_ = std::make_unique<site>(locks_.make_store(), how);
    EXPECT_TRUE(eventually([&] { return (*first_)->stats().ended == many; }));
    EXPECT_TRUE(eventually([&] { return (*first_)->stats().stuck == many; }));
    EXPECT_TRUE(run(**first_, of("stock")).confirmed());
}

// The log says who decides, and not a participant.
TEST_F(TxnSharedLog, AParticipantsWordOfAHigherEpochTakesNoPartition) {
    first_ = make_site(2);
    second_ = make_site(2);
    ASSERT_TRUE(eventually([&] { return first_->partitions() == 1 && second_->partitions() == 1; })
    );
    wallet_->answer_by([](const txn::call& request) -> result<reply> {
        reply::evidence seen;
        seen.epoch = request.epoch + 1'000'000;
        return reply::ahead(seen);
    });
    for (auto* each : {first_.get(), second_.get()}) {
        const auto outcome = run(**each);
        EXPECT_TRUE(outcome.unknown());
        EXPECT_EQ(outcome.why(), txn::errc::participant_ahead);
        EXPECT_EQ(refusal(**each), txn::errc::participant_ahead);
    }
    EXPECT_FALSE(
        eventually([&] { return first_->partitions() != 1 || second_->partitions() != 1; }, 300ms)
    );
    for (auto* each : {first_.get(), second_.get()}) {
        for (int i = 0; i < 5; ++i)
            EXPECT_TRUE(run(**each, of("stock")).confirmed());
    }
}

TEST_F(TxnSharedLog, ABarEndsWhenItsTransactionHasGoneElsewhere) {
    const auto lying = [](const txn::call&) -> result<reply> {
        reply::evidence seen;
        seen.term = 7;
        return reply::ahead(seen);
    };
    stock_->answer_by(lying);
    wallet_->answer_by(lying);
    first_ = make_site(2);
    ASSERT_TRUE(eventually([&] { return first_->partitions() == 2; }));
    for (const char* who : {"stock", "wallet"})  // one in each partition
        EXPECT_TRUE(run(**first_, of(who)).unknown());
    const auto barred = [&](const char* who) { return refusal(**first_, of(who)) != error_code(); };
    EXPECT_TRUE(barred("stock") && barred("wallet"));
    stock_->answer_by({});
    wallet_->answer_by({});
    second_ = make_site(2);
    ASSERT_TRUE(eventually([&] { return (*second_)->stats().ended == 1; })) << "and was mended";
    EXPECT_TRUE(eventually([&] { return barred("stock") != barred("wallet"); }));
    EXPECT_EQ((*first_)->stats().suspicious, 1u);
}

TEST_F(TxnSharedLog, ALogThatLocksKeepIsNotTakenWithoutThem) {
    first_ = make_site();
    ASSERT_TRUE(eventually([&] { return first_->partitions() == 1; }));
    first_.reset();
    asio::io_context context;
    auto alone = std::make_optional<txn::coordinator>(context.get_executor(), config());
    auto running = alone->async_run(of_both(), asio::use_future);
    const auto end = clock::now() + 20s;
    while (running.wait_for(0s) != std::future_status::ready && clock::now() < end)
        context.run_one_for(10ms);
    ASSERT_EQ(running.wait_for(0s), std::future_status::ready);
    try {
        static_cast<void>(running.get());
        FAIL();
    } catch (const boost::system::system_error& failed) {
        EXPECT_EQ(failed.code(), txn::errc::foreign_epochs);
    }
    alone.reset();
    context.run_for(1s);
}

TEST_F(TxnSharedLog, ALogWithoutLocksCanPassToThoseWithThem) {
    {
        asio::io_context context;
        txn::coordinator alone(context.get_executor(), config());
        auto running = alone.async_run(of_both(), asio::use_future);
        auto stopping = alone.async_stop(asio::use_future);
        context.run_for(5s);
        EXPECT_EQ(stopping.wait_for(5s), std::future_status::ready);
    }
    first_ = make_site();
    ASSERT_TRUE(eventually([&] { return first_->partitions() == 1; }));
    EXPECT_TRUE(run(**first_).confirmed());
}

TEST_F(TxnSharedLog, AnOrderIsDoneByWhoeverHasTheTransaction) {
    constexpr std::uint32_t partitions = 4;
    first_ = make_site(partitions);
    second_ = make_site(partitions);
    ASSERT_TRUE(eventually([&] { return first_->partitions() == 2 && second_->partitions() == 2; })
    );
    wallet_->answer_by([](const txn::call& call) -> result<reply> {
        return call.type == txn::operation::confirm ? reply::refused("closed") : reply::done();
    });
    std::vector<txn::gid> stuck;
    for (std::uint32_t i = 0; i < partitions; ++i) {
        stuck.push_back(run(**first_).gid());
        stuck.push_back(run(**second_).gid());
    }
    ASSERT_TRUE(eventually([&] {
        return (*first_)->stats().stuck == partitions && (*second_)->stats().stuck == partitions;
    }));
    wallet_->answer_by({});
    for (const auto& each : stuck) {
        txn::intervention order;
        order.gid = each;
        asio::io_context context(1);
        auto leaving =
            asio::co_spawn(context, txn::leave_operator_order(log(), order, 20s), asio::use_future);
        context.run();
        EXPECT_EQ(leaving.get(), error_code()) << each.text();
    }
    EXPECT_TRUE(eventually([&] {
        return (*first_)->stats().ended == partitions && (*second_)->stats().ended == partitions;
    }));
}

}  // namespace
}  // namespace mortise::test::shared_log_test
