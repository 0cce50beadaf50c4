// SPDX-License-Identifier: BSL-1.0
// What operators see of transactions, and what they do to them.
#include "unit/txn/coordinator_fixture.hpp"

#include <boost/asio/post.hpp>

#include <future>
#include <string>
#include <vector>

namespace mortise::test::operator_test {
namespace {

using namespace std::chrono_literals;
using txn::intervention;
using txn::list_filter;
using txn::reply;

class TxnOperator : public coordinator_fixture {
protected:
    std::optional<txn::transaction_view> shown(const txn::gid& gid) {
        return tcc_->async_show(gid, asio::use_future).get();
    }
    std::vector<txn::transaction_view>
    listed(list_filter filter, std::uint64_t after = 0, std::size_t limit = 100) {
        return tcc_->async_list(filter, after, limit, asio::use_future).get();
    }
    error_code intervene(intervention::kind how, const txn::gid& gid, txn::branch_number of = 0) {
        intervention order;
        order.type = how;
        order.gid = gid;
        order.branch = of;
        order.who = "alice";
        order.why = "ticket 7";
        return code_of([&] { tcc_->async_intervene(order, asio::use_future).get(); });
    }

    /// A transaction that is confirmed, but for the wallet.
    txn::gid make_stuck() {
        wallet_->answer_by(refusing(txn::operation::confirm, "the account is closed"));
        const auto before = tcc_->stats().stuck;
        const auto outcome = run(of_both());
        EXPECT_TRUE(outcome.confirmed());
        EXPECT_TRUE(eventually([&] { return tcc_->stats().stuck == before + 1; }));
        EXPECT_TRUE(eventually([&] {
            const auto found = shown(outcome.gid());
            return found && found->branches.at(0).finished && found->branches.at(1).stuck;
        })) << "the log has it too";
        return outcome.gid();
    }

    /// Orders both, so that neither is on the disk before the other is asked for.
    /// @return whether neither had taken effect when the other was judged
    bool retry_and_skip(const txn::gid& gid) {
        intervention retry;
        retry.gid = gid;
        intervention skip = retry;
        skip.type = intervention::kind::skip;
        std::promise<void> ordered;
        std::future<void> retried;
        std::future<void> skipped;
        asio::post(context_, [&] {
            retried = tcc_->async_intervene(retry, asio::use_future);
            skipped = tcc_->async_intervene(skip, asio::use_future);
            ordered.set_value();
        });
        ordered.get_future().get();
        const bool first = was_accepted(retried);
        return was_accepted(skipped) && first;
    }

    static bool was_accepted(std::future<void>& order) {
        try {
            order.get();
        } catch (const boost::system::system_error&) {
            return false;
        }
        return true;
    }
};

TEST_F(TxnOperator, SeeWhatHappenedInATransaction) {
    wallet_->answer_by([n = 0](const txn::call& call) mutable -> result<reply> {
        if (call.type == txn::operation::try_ && ++n == 1)
            return error_code(txn::errc::call_failed);
        return reply::done();
    });
    open();
    auto transaction = of_both();
    transaction.key("order 9").traceparent("00-abc");
    const auto outcome = run(std::move(transaction));
    static_cast<void>(settled(outcome.gid()));
    const auto found = shown(outcome.gid());
    ASSERT_TRUE(found);
    EXPECT_EQ(found->gid, outcome.gid());
    EXPECT_EQ(found->at, txn::standing::confirmed);
    EXPECT_TRUE(found->ended);
    EXPECT_TRUE(found->readable);
    EXPECT_FALSE(found->why);
    EXPECT_EQ(found->key, "order 9");
    EXPECT_EQ(found->traceparent, "00-abc");
    EXPECT_EQ(found->begun_epoch, wallet_->calls().at(0).epoch);
    EXPECT_EQ(found->decided_epoch, found->begun_epoch);
    EXPECT_LE(found->begun_ms, found->decided_ms);
    EXPECT_LE(found->decided_ms, found->ended_ms);
    EXPECT_GT(found->begun_ms, 0);
    ASSERT_EQ(found->branches.size(), 2u);
    const auto& wallet = found->branches[1];
    EXPECT_EQ(wallet.participant, "wallet");
    EXPECT_EQ(wallet.payload_size, 10u);
    EXPECT_TRUE(wallet.finished);
    EXPECT_EQ(wallet.calls, 3u);
    ASSERT_EQ(wallet.newest.size(), 3u);
    EXPECT_EQ(wallet.newest[0].result, txn::call_view::verdict::failed);
    EXPECT_EQ(wallet.newest[0].text, error_code(txn::errc::call_failed).message());
    EXPECT_EQ(wallet.newest[1].attempt, 2u);
    EXPECT_EQ(wallet.newest[1].result, txn::call_view::verdict::done);
    EXPECT_EQ(wallet.newest[2].type, txn::operation::confirm);
    EXPECT_EQ(wallet.newest[2].epoch, found->begun_epoch);
    EXPECT_GE(wallet.newest[2].begun, wallet.newest[1].begun + wallet.newest[1].took);
    EXPECT_EQ(found->branches[0].calls, 2u);
}

TEST_F(TxnOperator, SeeWhyATransactionWasCancelled) {
    wallet_->answer_by(refusing(txn::operation::try_, "no money"));
    open();
    const auto outcome = run(of_both());
    static_cast<void>(settled(outcome.gid()));
    const auto found = shown(outcome.gid());
    ASSERT_TRUE(found);
    EXPECT_EQ(found->at, txn::standing::cancelled);
    EXPECT_EQ(found->why, txn::errc::refused);
    EXPECT_EQ(found->text, "no money");
    EXPECT_EQ(found->branches.at(1).newest.at(0).result, txn::call_view::verdict::refused);
    EXPECT_EQ(found->branches.at(1).newest.at(0).text, "no money");
}

TEST_F(TxnOperator, SeeNothingOfWhatThereIsNot) {
    open();
    const auto outcome = run(of_both());
    EXPECT_FALSE(shown({outcome.gid().log, 99}));
    EXPECT_FALSE(shown({outcome.gid().log + 1, outcome.gid().number}));
}

TEST_F(TxnOperator, ListWhatWaitsForThemApart) {
    open();
    const auto first = run(of_both()).gid();
    static_cast<void>(settled(first));
    const auto second = make_stuck();
    wallet_->answer_by({});
    const auto third = run(of_both()).gid();
    static_cast<void>(settled(third));
    const auto all = listed(list_filter::all);
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0].gid, first);
    EXPECT_EQ(all[1].gid, second);
    EXPECT_EQ(all[2].gid, third);
    EXPECT_EQ(listed(list_filter::all, 0, 2).size(), 2u);
    ASSERT_EQ(listed(list_filter::all, second.number).size(), 1u);
    for (const auto filter : {list_filter::unfinished, list_filter::stuck}) {
        const auto some = listed(filter);
        ASSERT_EQ(some.size(), 1u);
        EXPECT_EQ(some[0].gid, second);
    }
}

TEST_F(TxnOperator, RetryWhatIsStuckWhenItsCauseIsGone) {
    open();
    const auto gid = make_stuck();
    EXPECT_FALSE(intervene(intervention::kind::retry, gid, 2));
    ASSERT_TRUE(eventually([&] { return tcc_->stats().stuck == 2; })) << "it refuses again";
    wallet_->answer_by({});
    EXPECT_FALSE(intervene(intervention::kind::retry, gid));
    EXPECT_TRUE(settled(gid).confirmed());
    EXPECT_EQ(wallet_->operations(), "try confirm confirm confirm");
    EXPECT_EQ(stock_->operations(), "try confirm") << "it had no part in it";
    const auto found = shown(gid);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->ended);
    ASSERT_EQ(found->actions.size(), 2u);
    EXPECT_EQ(found->actions[0].type, "retry");
    EXPECT_EQ(found->actions[0].branch, 2u);
    EXPECT_EQ(found->actions[0].who, "alice");
    EXPECT_EQ(found->actions[0].why, "ticket 7");
    EXPECT_GE(found->actions[1].at_ms, found->actions[0].at_ms);
    EXPECT_EQ(found->actions[1].branch, 0u);
}

TEST_F(TxnOperator, RetryNowWhatWaitsForItsNextAttempt) {
    auto how = config();
    how.retry_first = how.retry_max = 1h;
    wallet_->answer_by([](const txn::call& call) -> result<reply> {
        if (call.type == txn::operation::confirm)
            return reply::again(1h);
        return reply::done();
    });
    open(how);
    const auto gid = run(of_both()).gid();
    ASSERT_TRUE(eventually([&] { return wallet_->calls().size() == 2; }));
    wallet_->answer_by({});
    EXPECT_FALSE(eventually([&] { return wallet_->calls().size() > 2; }, 50ms));
    ASSERT_TRUE(eventually([&] { return !intervene(intervention::kind::retry, gid); }));
    EXPECT_TRUE(settled(gid).confirmed());
    EXPECT_EQ(wallet_->operations(), "try confirm confirm");
}

TEST_F(TxnOperator, SkipWhatWillNeverBeFinished) {
    open();
    const auto gid = make_stuck();
    EXPECT_EQ(intervene(intervention::kind::skip, gid, 1), txn::errc::not_stuck);
    EXPECT_FALSE(intervene(intervention::kind::skip, gid, 2));
    EXPECT_TRUE(settled(gid).confirmed()) << "an outcome does not change";
    const auto found = shown(gid);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->ended);
    EXPECT_TRUE(found->branches.at(1).skipped);
    EXPECT_FALSE(found->branches.at(1).stuck);
    EXPECT_FALSE(found->branches.at(0).skipped);
    EXPECT_EQ(wallet_->operations(), "try confirm");
    EXPECT_EQ(intervene(intervention::kind::skip, gid, 2), txn::errc::not_open);
    EXPECT_EQ(shown(gid)->actions.size(), 1u) << "what was not done is not remembered";
}

TEST_F(TxnOperator, WhoRetriesWhatAnotherSkipsAtTheSameTimeCallsNobody) {
    constexpr int attempts_max = 20;
    open();
    bool both = false;
    for (int i = 0; i < attempts_max && !both; ++i) {
        const auto gid = make_stuck();
        const auto calls = wallet_->calls().size();
        both = retry_and_skip(gid);
        const auto is_over = [&] { return both || shown(gid)->ended; };
        EXPECT_TRUE(eventually([&] {
            return is_over() || !intervene(intervention::kind::skip, gid, 2);
        }));
        EXPECT_TRUE(settled(gid).confirmed());
        if (!both)
            continue;
        const auto found = shown(gid);
        ASSERT_TRUE(found);
        EXPECT_TRUE(found->ended);
        EXPECT_TRUE(found->branches.at(1).skipped) << "as is on record";
        EXPECT_EQ(found->actions.size(), 2u);
        EXPECT_EQ(wallet_->calls().size(), calls);
    }
    EXPECT_TRUE(both);
}

TEST_F(TxnOperator, ForceACancelOfWhatIsNotDecided) {
    wallet_->hold_tries(true);
    open();
    auto running = tcc_->async_run(of_both(), asio::use_future);
    ASSERT_TRUE(eventually([&] { return wallet_->calls().size() == 1; }));
    const auto gid = wallet_->calls().at(0).gid;
    EXPECT_EQ(intervene(intervention::kind::skip, gid), txn::errc::not_stuck);
    EXPECT_FALSE(intervene(intervention::kind::force, gid));
    const auto outcome = running.get();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(outcome.why(), txn::errc::forced);
    EXPECT_EQ(outcome.text(), "ticket 7");
    EXPECT_TRUE(settled(gid).cancelled());
    EXPECT_EQ(shown(gid)->actions.at(0).type, "force");
}

TEST_F(TxnOperator, ActionsOutliveTheCoordinator) {
    open();
    const auto gid = make_stuck();
    EXPECT_FALSE(intervene(intervention::kind::retry, gid));
    ASSERT_TRUE(eventually([&] { return tcc_->stats().stuck == 2; }));
    tcc_.reset();
    wallet_->answer_by({});
    open();
    ASSERT_TRUE(eventually([&] { return tcc_->stats().ended == 1; })) << "asked once more";
    EXPECT_EQ(shown(gid)->actions.size(), 1u);
}

TEST_F(TxnOperator, AreToldThatACoordinatorWasStopped) {
    open();
    const auto gid = make_stuck();
    tcc_->async_stop(asio::use_future).get();
    EXPECT_EQ(intervene(intervention::kind::retry, gid), txn::errc::stopped);
    EXPECT_EQ(code_of([&] { shown(gid); }), txn::errc::stopped);
    EXPECT_EQ(code_of([&] { listed(list_filter::all); }), txn::errc::stopped);
}

}  // namespace
}  // namespace mortise::test::operator_test
