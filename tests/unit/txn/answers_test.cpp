// SPDX-License-Identifier: BSL-1.0
// What the answers of participants lead to, where they are late, empty, or say little.
#include "mortise/txn/functions.hpp"
#include "unit/txn/coordinator_fixture.hpp"

#include <boost/system/errc.hpp>

#include <atomic>
#include <stdexcept>
#include <string>

namespace mortise::test::answers_test {
namespace {

using namespace std::chrono_literals;
using txn::operation;
using txn::reply;

class TxnAnswers : public coordinator_fixture {
protected:
    static txn::transaction of_wallet() {
        txn::transaction transaction;
        transaction.add("wallet", "");
        return transaction;
    }
};

// The first try may have had its effect, or have it later.
TEST_F(TxnAnswers, ARefusalAfterATryWithoutAnAnswerIsCancelledAllTheSame) {
    for (const bool by_protocol : {false, true}) {
        std::atomic<int> tries{0};
        wallet_ = std::make_shared<scripted_participant>();
        wallet_->answer_by([&](const txn::call& call) -> result<reply> {
            if (call.type != operation::try_)
                return reply::done();
            if (tries++ == 0)
                return error_code(txn::errc::call_failed);
            return by_protocol ? result<reply>(mortise::errc::stale_token)
                               : result<reply>(reply::refused("no money"));
        });
        open();
        const auto outcome = run(of_wallet());
        EXPECT_TRUE(outcome.cancelled());
        EXPECT_EQ(outcome.why(), txn::errc::refused);
        EXPECT_TRUE(settled(outcome.gid()).cancelled());
        EXPECT_EQ(wallet_->operations(), "try try cancel");
        tcc_.reset();
    }
}

TEST_F(TxnAnswers, ACleanRefusalNeedsNoCancel) {
    wallet_->answer_by(refusing(operation::try_, "no money"));
    open();
    EXPECT_TRUE(settled(run(of_wallet()).gid()).cancelled());
    EXPECT_EQ(wallet_->operations(), "try");
}

TEST_F(TxnAnswers, WhatAParticipantThrowsIsKept) {
    wallet_->answer_by([](const txn::call& call) -> result<reply> {
        if (call.type == operation::try_)
            throw std::runtime_error("the ledger is closed for the year");
        return reply::done();
    });
    auto how = config();
    how.try_attempts_max = 2;
    open(how);
    const auto outcome = run(of_wallet());
    EXPECT_EQ(outcome.why(), txn::errc::no_answer);
    EXPECT_EQ(outcome.text(), "the ledger is closed for the year");
    EXPECT_TRUE(settled(outcome.gid()).cancelled());
    const auto view = tcc_->async_show(outcome.gid(), asio::use_future).get();
    ASSERT_TRUE(view);
    EXPECT_EQ(view->branches[0].newest.front().text, "the ledger is closed for the year");
}

TEST_F(TxnAnswers, WhatCoroutinesThrowIsKept) {
    const auto closed = make_error_code(boost::system::errc::connection_refused);
    const auto throwing = [&](error_code code, std::string text) {
        return [=](const txn::call&) -> asio::awaitable<reply> {
            throw boost::system::system_error(code, text);
            co_return reply::done();
        };
    };
    const auto done = [](const txn::call&) -> asio::awaitable<reply> { co_return reply::done(); };
    auto how = config();
    how.try_attempts_max = 1;
    how.participants["wallet"] =
        txn::make_participant(throwing(closed, "the ledger at host 7"), done, done);
    how.participants["stock"] =
        txn::make_participant(throwing(txn::errc::call_failed, "the shelf is locked"), done, done);
    how.participants["bank"] = txn::make_participant(
        done, throwing(txn::errc::conflict, "given back by hand"), throwing(closed, "")
    );
    open(how);
    EXPECT_EQ(run(of_wallet()).text(), "the ledger at host 7: " + closed.what());
    txn::transaction of_stock;
    of_stock.add("stock", "");
    EXPECT_EQ(run(of_stock).text(), "the shelf is locked") << "that the call failed says nothing";
    txn::transaction of_bank;
    of_bank.add("bank", "");
    const auto outcome = run(of_bank);
    ASSERT_TRUE(eventually([&] { return tcc_->stats().stuck == 1; })) << "that is an answer";
    EXPECT_TRUE(eventually([&] {
        const auto view = tcc_->async_show(outcome.gid(), asio::use_future).get();
        const auto& calls = view.value().branches.at(0).newest;
        return !calls.empty() && calls.back().text.starts_with("given back by hand: ");
    }));
}

// Neither is asked as fast as it can answer.
TEST_F(TxnAnswers, WhoAsksForNoPauseGetsOneThatGrows) {
    for (const auto type : {operation::try_, operation::confirm}) {
        wallet_ = std::make_shared<scripted_participant>();
        wallet_->answer_by([type](const txn::call& call) -> result<reply> {
            return call.type == type ? reply::again(0ms) : reply::done();
        });
        open();
        const auto begin = clock::now();
        auto running = tcc_->async_run(of_wallet(), asio::use_future);
        ASSERT_TRUE(eventually([&] { return wallet_->calls().size() >= 9; }));
        EXPECT_GE(clock::now() - begin, 200ms) << "2 + 4 + 8 + ... + 128 ms";
        wallet_->answer_by({});
        EXPECT_EQ(running.wait_for(20s), std::future_status::ready);
        EXPECT_TRUE(settled(running.get().gid()).confirmed());
        tcc_.reset();
    }
}

}  // namespace
}  // namespace mortise::test::answers_test
