// SPDX-License-Identifier: BSL-1.0
// What a coordinator does with branches that its participants list as prepared.
#include "mortise/txn/prometheus.hpp"
#include "mortise/txn/txn_observer.hpp"
#include "unit/txn/coordinator_fixture.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test::prepared_watch_test {
namespace {

using namespace std::chrono_literals;
using txn::prepared_branch;
using kind = txn::txn_event::kind;

TEST(OrphanRule, LeavesWhatIsUnderWayAndEndsWhatNobodyNeeds) {
    using txn::fate_of;
    using fate = txn::prepared_fate;
    using txn::prepared_standing;
    for (const bool overdue : {false, true}) {
        EXPECT_EQ(fate_of(prepared_standing::under_way, overdue), fate::leave);
        EXPECT_EQ(fate_of(prepared_standing::cancelled, overdue), fate::roll_back);
        EXPECT_EQ(fate_of(prepared_standing::confirmed, overdue), fate::report);
    }
    EXPECT_EQ(fate_of(prepared_standing::unknown, false), fate::wait);
    EXPECT_EQ(fate_of(prepared_standing::unknown, true), fate::roll_back);
}

/// Remembers what it hears of prepared branches.
class prepared_notes final : public txn::txn_observer {
public:
    void on_event(const txn::txn_event& event) noexcept override {
        const std::lock_guard hold(mutex_);
        if (event.type == kind::list_failed || event.type == kind::prepared_long ||
            event.type == kind::orphan_ended || event.type == kind::orphan_left)
            all_.push_back(
                std::string(to_string(event.type)) + " " + std::to_string(event.gid.number) + "." +
                std::to_string(event.branch) + " " + std::string(event.participant)
            );
    }
    std::size_t count(const std::string& text) const {
        const std::lock_guard hold(mutex_);
        return static_cast<std::size_t>(std::count(all_.begin(), all_.end(), text));
    }
    std::vector<std::string> all() const {
        const std::lock_guard hold(mutex_);
        return all_;
    }

private:
    mutable std::mutex mutex_;
    std::vector<std::string> all_;
};

class TxnPrepared : public coordinator_fixture {
protected:
    TxnPrepared() { stock_->prepare_nothing(); }
    ~TxnPrepared() override { tcc_.reset(); }

    void open_with(std::chrono::milliseconds deadline) {
        auto how = config();
        how.deadline = deadline;
        how.prepared_look_first = 1ms;
        how.prepared_look_max = 5ms;
        how.observer = &notes_;
        open(std::move(how));
    }
    static txn::transaction of_stock() {
        txn::transaction transaction;
        transaction.add("stock", "");
        return transaction;
    }
    /// The branch of `stock` in this transaction, as its call names it.
    prepared_branch branch_of(const txn::gid& gid, std::chrono::milliseconds age = 1h) const {
        prepared_branch branch;
        branch.gid = gid;
        branch.branch = 1;
        branch.age = age;
        for (const auto& each : stock_->calls()) {
            if (each.gid == gid)
                branch.term = each.term;
        }
        return branch;
    }
    static prepared_branch beyond(const txn::gid& known) {
        prepared_branch branch;
        branch.gid = {known.log, known.number + 100};
        branch.term = 7;
        branch.branch = 3;
        return branch;
    }
    /// Whether that many more looks have come to their end.
    bool looks_pass() const {
        const auto before = stock_->looks();
        return eventually([&] { return stock_->looks() > before + 3; });
    }
    std::size_t cancels_of(const txn::gid& gid) const {
        const auto calls = stock_->calls();
        return static_cast<std::size_t>(std::count_if(
            calls.begin(),
            calls.end(),
            [&gid](const auto& each) {
                return each.gid == gid && each.type == txn::operation::cancel;
            }
        ));
    }

    prepared_notes notes_;
};

TEST_F(TxnPrepared, ABranchThatTheLogDoesNotKnowIsRolledBackWhenItIsOverdue) {
    open_with(10s);
    const auto known = run(of_stock());
    auto orphan = beyond(known.gid());
    orphan.age = 9s;
    stock_->prepare({orphan});
    ASSERT_TRUE(looks_pass());
    EXPECT_EQ(cancels_of(orphan.gid), 0u) << "its transaction might still be under way";
    EXPECT_EQ(tcc_->stats().prepared, 1u);
    orphan.age = 10s;
    stock_->prepare({orphan});
    ASSERT_TRUE(eventually([&] { return tcc_->stats().orphans_ended == 1; }));
    const auto cancel = stock_->calls().back();
    EXPECT_EQ(cancel.type, txn::operation::cancel);
    EXPECT_EQ(cancel.gid, orphan.gid);
    EXPECT_EQ(cancel.term, 7u);
    EXPECT_EQ(cancel.branch, 3u);
    EXPECT_EQ(cancel.participant, "stock");
    const auto ended = "orphan_ended " + std::to_string(orphan.gid.number) + ".3 stock";
    EXPECT_TRUE(eventually([&] { return notes_.count(ended) == 1; }));
    ASSERT_TRUE(eventually([&] { return tcc_->stats().prepared == 0; }));
}

TEST_F(TxnPrepared, ADatabaseThatTellsNoAgesIsLookedAtForAsLong) {
    open_with(60ms);
    auto orphan = beyond(run(of_stock()).gid());
    const auto begun = clock::now();
    stock_->prepare({orphan});
    ASSERT_TRUE(eventually([&] { return tcc_->stats().orphans_ended == 1; }));
    EXPECT_GE(clock::now() - begun, 60ms);
}

TEST_F(TxnPrepared, WhatIsUnderWayIsLeftAndReportedIfItTakesLong) {
    stock_->hold(txn::operation::confirm, true);
    auto how = config();
    how.prepared_look_first = 1ms;
    how.prepared_look_max = 5ms;
    how.prepared_max = 30min;
    how.observer = &notes_;
    open(how);
    const auto outcome = run(of_stock());
    const auto long_text = "prepared_long " + std::to_string(outcome.gid().number) + ".1 stock";
    stock_->prepare({branch_of(outcome.gid(), 29min)});
    ASSERT_TRUE(looks_pass());
    EXPECT_EQ(notes_.count(long_text), 0u);
    stock_->prepare({branch_of(outcome.gid(), 31min)});
    ASSERT_TRUE(eventually([&] { return notes_.count(long_text) == 1; }));
    ASSERT_TRUE(looks_pass());
    EXPECT_EQ(notes_.all().size(), 1u) << "once";
    EXPECT_EQ(cancels_of(outcome.gid()), 0u);
    EXPECT_EQ(tcc_->stats().prepared_oldest_ms, 31u * 60'000);
    EXPECT_NE(
        txn::prometheus_text(tcc_->stats(), "a")
            .find("mortise_txn_prepared_oldest_milliseconds{coordinator=\"a\"} 1860000"),
        std::string::npos
    );
    stock_->hold(txn::operation::confirm, false);
}

TEST_F(TxnPrepared, WhatWasCancelledIsRolledBackAndWhatWasConfirmedIsLeftToPeople) {
    open_with(10s);
    const auto confirmed = settled(run(of_stock()).gid()).gid();
    stock_->answer_by(refusing(txn::operation::try_, "no"));
    const auto cancelled = settled(run(of_stock()).gid()).gid();
    stock_->answer_by(nullptr);
    stock_->prepare({branch_of(confirmed), branch_of(cancelled)});
    ASSERT_TRUE(eventually([&] { return tcc_->stats().orphans_ended == 1; }));
    ASSERT_TRUE(eventually([&] { return tcc_->stats().orphans_left == 1; }));
    ASSERT_TRUE(looks_pass());
    EXPECT_EQ(cancels_of(cancelled), 1u);
    EXPECT_EQ(cancels_of(confirmed), 0u);
    EXPECT_EQ(notes_.count("orphan_left " + std::to_string(confirmed.number) + ".1 stock"), 1u);
    stock_->prepare({});
    ASSERT_TRUE(eventually([&] { return tcc_->stats().orphans_left == 0; }));
}

TEST_F(TxnPrepared, ABranchOfAnotherTermIsNoneOfTheTransactionWithItsNumber) {
    stock_->hold(txn::operation::confirm, true);
    open_with(1ms);
    auto how = of_stock();
    how.deadline(10s);
    const auto outcome = run(std::move(how));
    auto orphan = branch_of(outcome.gid());
    ++orphan.term;
    stock_->prepare({orphan});
    ASSERT_TRUE(eventually([&] { return cancels_of(outcome.gid()) == 1; }));
    EXPECT_EQ(stock_->calls().back().term, orphan.term);
    stock_->hold(txn::operation::confirm, false);
    EXPECT_TRUE(settled(outcome.gid()).confirmed());
}

TEST_F(TxnPrepared, AnOrphanThatCannotBeEndedIsTriedAgain) {
    open_with(10s);
    auto orphan = beyond(run(of_stock()).gid());
    orphan.age = 1h;
    stock_->answer_by([](const txn::call&) { return error_code(txn::errc::call_failed); });
    stock_->prepare({orphan});
    ASSERT_TRUE(eventually([&] { return cancels_of(orphan.gid) > 2; }));
    EXPECT_EQ(tcc_->stats().orphans_ended, 0u);
    stock_->answer_by(nullptr);
    ASSERT_TRUE(eventually([&] { return tcc_->stats().orphans_ended == 1; }));
}

TEST_F(TxnPrepared, ADatabaseThatDoesNotAnswerIsAskedAgain) {
    auto how = config();
    how.deadline = 1ms;
    how.call_max = 20ms;
    how.prepared_look_first = 1ms;
    how.prepared_look_max = 5ms;
    how.observer = &notes_;
    stock_->hold_lists(true);
    open(std::move(how));
    ASSERT_TRUE(eventually([&] { return stock_->looks() > 2; }));
    stock_->hold_lists(false);
    EXPECT_EQ(notes_.count("list_failed 0.0 stock"), 1u) << "once";
    auto later = of_stock();
    later.deadline(10s);
    stock_->prepare({beyond(run(std::move(later)).gid())});
    ASSERT_TRUE(eventually([&] { return tcc_->stats().orphans_ended == 1; }));
}

TEST_F(TxnPrepared, ItLooksRarelyWhenNothingIsFound) {
    auto how = config();
    how.prepared_look_first = 1ms;
    how.prepared_look_max = 24h;
    how.partitions = 1;  // each that is taken over begins anew
    const auto begun = clock::now();
    open(how);
    ASSERT_TRUE(eventually([&] { return stock_->looks() > 5; }));
    ASSERT_TRUE(eventually([&] { return clock::now() >= begun + 100ms; }));
    const auto looks = stock_->looks();
    const std::chrono::duration<double, std::milli> passed = clock::now() - begun;
    EXPECT_LE(static_cast<double>(looks), std::log2(passed.count()) + 3) << "1, 2, 4, ... ms";
}

TEST_F(TxnPrepared, AStopEndsALookThatIsUnderWay) {
    stock_->hold_lists(true);
    open_with(1ms);
    ASSERT_TRUE(eventually([&] { return stock_->looks() == 1; }));
    auto stopping = tcc_->async_stop(asio::use_future);
    EXPECT_EQ(stopping.wait_for(20s), std::future_status::ready);
    EXPECT_TRUE(eventually([&] { return stock_->lists_cancelled() == 1; }));
    stock_->hold_lists(false);
}

}  // namespace
}  // namespace mortise::test::prepared_watch_test
