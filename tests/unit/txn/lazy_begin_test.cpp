// SPDX-License-Identifier: BSL-1.0
// Where all participants list what they have prepared, the begin of a transaction is not forced.
#include "unit/txn/log_disk_fixture.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace mortise::test::lazy_begin_test {
namespace {

constexpr std::uint64_t reserved_at_once = 1'000;

class TxnLazyBegin : public log_disk_fixture {
protected:
    // The first one of a log reserves numbers, which is forced.
    void open_used() {
        open(on_disk());
        EXPECT_TRUE(run(of_both()).confirmed());
        settle_all();
    }

    static txn::transaction of_stock() {
        txn::transaction transaction;
        transaction.add("stock", "two apples");
        return transaction;
    }

    std::uint64_t forced() { return tcc_->async_log_stats(asio::use_future).get().forced; }
    void settle_all() {
        ASSERT_TRUE(eventually([&] { return tcc_->stats().open == 0; }));
    }

    // How many writes were forced for so many of them.
    std::uint64_t forced_for(const txn::transaction& each, int count) {
        const auto before = forced();
        for (int i = 0; i < count; ++i)
            EXPECT_TRUE(run(each).confirmed());
        settle_all();
        return forced() - before;
    }
};

TEST_F(TxnLazyBegin, OnlyTheDecisionIsForced) {
    stock_->prepare_nothing();
    wallet_->prepare_nothing();
    open_used();
    EXPECT_EQ(forced_for(of_both(), 20), 20u);
}

TEST_F(TxnLazyBegin, NothingIsForcedForABranchThatCommitsAlone) {
    stock_->commit_alone();
    wallet_->prepare_nothing();
    open_used();
    EXPECT_EQ(forced_for(of_stock(), 20), 0u);
}

TEST_F(TxnLazyBegin, NotBesideAParticipantThatListsNothing) {
    stock_->prepare_nothing();
    open_used();
    EXPECT_EQ(forced_for(of_both(), 20), 40u);
}

// Whoever repeats it with its key must find it, whatever has happened.
TEST_F(TxnLazyBegin, NotWithAKey) {
    stock_->commit_alone();
    wallet_->prepare_nothing();
    open_used();
    for (const char* key : {"order 1", "order 2"}) {
        auto keyed = of_stock();
        keyed.key(key);
        EXPECT_EQ(forced_for(keyed, 1), 1u) << key;
    }
}

TEST_F(TxnLazyBegin, NumbersAreReservedManyAtOnce) {
    stock_->commit_alone();
    wallet_->prepare_nothing();
    open_used();
    EXPECT_EQ(forced_for(of_stock(), 2 * (1 + reserved_at_once)), 2u);
}

TEST_F(TxnLazyBegin, ANumberThatAPowerFailureLostDoesNotComeAgain) {
    stock_->commit_alone();
    wallet_->prepare_nothing();
    open_used();
    std::vector<txn::gid> lost;
    for (int i = 0; i < 5; ++i)
        lost.push_back(run(of_stock()).gid());
    settle_all();
    lose_power();

    open_used();
    const auto next = run(of_stock());
    EXPECT_TRUE(next.confirmed());
    EXPECT_GT(next.gid().number, lost.back().number);
    EXPECT_LE(next.gid().number, lost.back().number + 2 * reserved_at_once);
    for (const auto& each : lost) {
        EXPECT_EQ(code_of([&] { static_cast<void>(asked(each)); }), txn::errc::not_open)
            << "it was, and is forgotten";
    }
}

TEST_F(TxnLazyBegin, ADecisionKeepsItsBegin) {
    stock_->prepare_nothing();
    wallet_->prepare_nothing();
    open_used();
    const auto confirmed = run(of_both());
    lose_power();
    open_used();
    EXPECT_TRUE(asked(confirmed.gid()).confirmed());
}

// As one that has not begun: the coordinator that comes next finds only what it left prepared.
TEST_F(TxnLazyBegin, WhatALostOneHasPreparedIsRolledBack) {
    stock_->prepare_nothing();
    wallet_->prepare_nothing();
    open_used();
    wallet_->hold_tries(true);
    auto running = tcc_->async_run(of_both(), asio::use_future);
    ASSERT_TRUE(eventually([&] { return wallet_->calls().size() >= 3; }));
    const auto left = wallet_->calls().back();
    lose_power();
    txn::prepared_branch orphan;
    orphan.gid = left.gid;
    orphan.term = left.term;
    orphan.branch = left.branch;
    orphan.age = std::chrono::hours(1);
    wallet_->prepare({orphan});
    wallet_->hold_tries(false);
    open_used();
    EXPECT_TRUE(eventually([&] { return tcc_->stats().orphans_ended == 1; }));
    EXPECT_EQ(code_of([&] { static_cast<void>(asked(left.gid)); }), txn::errc::not_open);
}

}  // namespace
}  // namespace mortise::test::lazy_begin_test
