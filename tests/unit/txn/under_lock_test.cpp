// SPDX-License-Identifier: BSL-1.0
// Transactions under locks.
#include "mortise/lock_client.hpp"
#include "mortise/store/memory.hpp"
#include "unit/txn/coordinator_fixture.hpp"

#include <optional>
#include <string>

namespace mortise::test::under_lock_test {
namespace {

class TxnUnderLock : public coordinator_fixture {
protected:
    TxnUnderLock() { open(); }
    ~TxnUnderLock() override {
        // Before the context's end, from outside of its thread: the leases are given back first.
        held_.reset();
        locks_->async_stop(asio::use_future).get();
    }

    lease& acquire(const std::string& name, lock_options how = lock_options()) {
        held_.emplace(locks_->async_acquire(name, how, asio::use_future).get());
        return *held_;
    }
    /// A transaction whose tries do not end.
    std::future<txn::outcome> begin(txn::transaction transaction) {
        wallet_->hold_tries(true);
        auto running = tcc_->async_run(std::move(transaction), asio::use_future);
        EXPECT_TRUE(eventually([&] { return wallet_->calls().size() == 1; }));
        return running;
    }

    memory_server server_;
    std::optional<lock_client> locks_{
        std::in_place, asio::any_io_executor(context_.get_executor()), server_.make_store()};
    std::optional<lease> held_;
};

TEST_F(TxnUnderLock, ItsTokenGoesWithEveryCall) {
    const auto token = acquire("flash sale").token();
    auto transaction = of_both();
    transaction.under(*held_);
    const auto outcome = run(std::move(transaction));
    EXPECT_TRUE(outcome.confirmed());
    static_cast<void>(settled(outcome.gid()));
    for (const auto* each : {stock_.get(), wallet_.get()}) {
        for (const auto& call : each->calls()) {
            ASSERT_EQ(call.locks.size(), 1u);
            EXPECT_EQ(call.locks[0], txn::lock_token("flash sale", token));
        }
    }
    const auto shown = tcc_->async_show(outcome.gid(), asio::use_future).get();
    ASSERT_TRUE(shown && shown->locks.size() == 1);
    EXPECT_EQ(shown->locks[0].token, token);
}

TEST_F(TxnUnderLock, EachPermitIsALockOfItsOwn) {
    lock_options permit;
    permit.mode = lock_mode::permits(3);
    auto transaction = of_both();
    transaction.under(acquire("pool", permit));
    EXPECT_TRUE(run(std::move(transaction)).confirmed());
    EXPECT_EQ(stock_->calls().at(0).locks.at(0).name, "pool#1");
}

TEST_F(TxnUnderLock, WithoutItNothingIsConfirmed) {
    auto transaction = of_both();
    transaction.under(acquire("door"));
    auto running = begin(std::move(transaction));
    EXPECT_TRUE(locks_->async_break("door", held_->token(), "test", asio::use_future).get());
    ASSERT_TRUE(eventually([&] { return held_->check() == errc::lease_lost; }));
    wallet_->hold_tries(false);
    const auto outcome = running.get();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(outcome.why(), txn::errc::lock_lost);
    EXPECT_EQ(outcome.text(), "door");
    EXPECT_TRUE(settled(outcome.gid()).cancelled());
    EXPECT_EQ(wallet_->operations(), "try cancel");
}

TEST_F(TxnUnderLock, AReleaseBeforeTheDecisionIsALoss) {
    auto transaction = of_both();
    transaction.under(acquire("door"));
    auto running = begin(std::move(transaction));
    held_.reset();
    wallet_->hold_tries(false);
    EXPECT_EQ(running.get().why(), txn::errc::lock_lost);
}

TEST_F(TxnUnderLock, OneOfSeveralIsEnough) {
    lease other = locks_->async_acquire("other", lock_options(), asio::use_future).get();
    auto transaction = of_both();
    transaction.under(acquire("door")).under(other);
    auto running = begin(std::move(transaction));
    { const lease gone = std::move(other); }
    wallet_->hold_tries(false);
    const auto outcome = running.get();
    EXPECT_EQ(outcome.why(), txn::errc::lock_lost);
    EXPECT_EQ(outcome.text(), "other");
}

TEST_F(TxnUnderLock, AKeyIsTheSameUnderALaterGrantAndInAnotherTrace) {
    const auto order = [this] {
        auto transaction = of_both();
        transaction.key("order 7").under(acquire("door"));
        return transaction;
    };
    const auto outcome = run(order());
    EXPECT_TRUE(outcome.confirmed());
    held_.reset();
    auto later = order();
    later.traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    const auto again = run(std::move(later));
    EXPECT_EQ(again.gid(), outcome.gid());
    EXPECT_TRUE(again.confirmed());
    EXPECT_EQ(tcc_->stats().begun, 1u);
}

TEST_F(TxnUnderLock, AfterTheDecisionItIsNotNeeded) {
    wallet_->answer_by([n = 0](const txn::call& call) mutable -> result<txn::reply> {
        if (call.type == txn::operation::confirm && ++n < 3)
            return error_code(txn::errc::call_failed);
        return txn::reply::done();
    });
    auto transaction = of_both();
    transaction.under(acquire("door"));
    const auto outcome = run(std::move(transaction));
    EXPECT_TRUE(outcome.confirmed());
    held_.reset();
    EXPECT_TRUE(settled(outcome.gid()).confirmed());
    EXPECT_EQ(wallet_->operations(), "try confirm confirm confirm");
}

}  // namespace
}  // namespace mortise::test::under_lock_test
