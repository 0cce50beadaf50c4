// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/barrier.hpp"
#include "mortise/txn/error.hpp"

#include <gtest/gtest.h>

#include <sqlite3.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

namespace mortise::txn::barrier_test {
namespace {

using verdict = reply::verdict;

constexpr std::uint64_t usual_term = 7;

/// An account of 100, and whoever reserves from it in an SQLite database.
class TxnBarrier : public testing::Test {
protected:
    TxnBarrier() {
        sqlite3* opened = nullptr;
        EXPECT_EQ(sqlite3_open(":memory:", &opened), SQLITE_OK);
        file_.reset(opened);
        on_ = std::make_unique<db::connection>(opened);
        on_->run("CREATE TABLE account(free INTEGER, reserved INTEGER)");
        on_->run("INSERT INTO account VALUES(100, 0)");
    }

    static call call_of(operation operation, std::uint64_t number = 1, std::uint64_t epoch = 1) {
        call call;
        call.type = operation;
        call.gid = {42, number};
        call.branch = 1;
        call.attempt = 1;
        call.epoch = epoch;
        call.term = usual_term;
        call.participant = "account";
        call.time_left = std::chrono::seconds(10);
        return call;
    }

    /// The call, as a participant does it.
    result<reply> answer(const call& call) {
        return within([&] { return barrier::pass(*on_, call, [&] { return work(call.type); }); });
    }
    result<reply> answer(operation operation, std::uint64_t number = 1) {
        return answer(call_of(operation, number));
    }

    template <class Work>
    result<reply> within(Work doing) {
        on_->run("BEGIN IMMEDIATE");
        auto got = doing();
        on_->run("COMMIT");
        return got;
    }

    reply work(operation type) {
        ++worked_;
        switch (type) {
        case operation::try_:
            on_->run("UPDATE account SET free = free - 10, reserved = reserved + 10");
            return next_;
        case operation::confirm:
            on_->run("UPDATE account SET reserved = reserved - 10");
            return next_;
        case operation::cancel:
            on_->run("UPDATE account SET free = free + 10, reserved = reserved - 10");
            return next_;
        }
        return {};
    }

    std::string account() {
        auto row = on_->query("SELECT free, reserved FROM account");
        row.step();
        return row.text(0) + '/' + row.text(1);
    }

    std::int64_t rows() {
        auto row = on_->query("SELECT count(*) FROM mortise_txn_branch");
        row.step();
        return row.integer(0);
    }

    static reply::evidence seen_by(const result<reply>& got) {
        EXPECT_TRUE(got && got->type == verdict::ahead);
        return got ? got->seen : reply::evidence();
    }
    static error_code code_of(const result<reply>& got) { return got ? error_code() : got.error(); }

    struct closer {
        void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
    };
    std::unique_ptr<sqlite3, closer> file_;
    std::unique_ptr<db::connection> on_;
    reply next_ = reply::done("ok");
    int worked_ = 0;
};

TEST_F(TxnBarrier, DoesEachCallOnceAndAnswersARepetitionAlike) {
    EXPECT_EQ(answer(operation::try_)->payload, "ok");
    EXPECT_EQ(account(), "90/10");
    next_.payload = "another";
    EXPECT_EQ(answer(operation::try_)->payload, "ok");
    EXPECT_EQ(answer(operation::confirm)->payload, "another");
    EXPECT_EQ(account(), "90/0");
    next_.payload = "third";
    EXPECT_EQ(answer(operation::confirm)->payload, "another");
    EXPECT_EQ(answer(operation::try_)->type, verdict::done) << "late, and repeated";
    EXPECT_EQ(account(), "90/0");
    EXPECT_EQ(worked_, 2);
}

TEST_F(TxnBarrier, APurgeDoesNotLookAtWhatCannotBeForgotten) {
    constexpr std::uint64_t first_open = 1'000;
    for (std::uint64_t number = first_open; number < first_open + 1'000; ++number)
        answer(operation::cancel, number);
    auto last = call_of(operation::cancel, first_open + 1'000);
    last.ended_below = first_open;
    answer(last);
    int steps = 0;
    const auto count = [](void* sum) {
        ++*static_cast<int*>(sum);
        return 0;
    };
    sqlite3_progress_handler(file_.get(), 1, count, &steps);
    EXPECT_EQ(barrier::purge(*on_, 100), 0u);
    sqlite3_progress_handler(file_.get(), 0, nullptr, nullptr);
    EXPECT_LT(steps, 500) << "of SQLite's virtual machine, for a thousand branches";
}

TEST_F(TxnBarrier, ACancelGivesBackOnce) {
    answer(operation::try_);
    EXPECT_EQ(answer(operation::cancel)->type, verdict::done);
    EXPECT_EQ(answer(operation::cancel)->type, verdict::done);
    EXPECT_EQ(account(), "100/0");
    EXPECT_EQ(code_of(answer(operation::try_)), errc::late_try);
    EXPECT_EQ(account(), "100/0");
}

TEST_F(TxnBarrier, ACancelWithoutATrySucceedsAndTheTryIsRefusedAfterwards) {
    EXPECT_EQ(answer(operation::cancel)->type, verdict::done);
    EXPECT_EQ(worked_, 0);
    EXPECT_EQ(rows(), 1);
    EXPECT_EQ(code_of(answer(operation::try_)), errc::late_try);
    EXPECT_EQ(worked_, 0);
    EXPECT_EQ(account(), "100/0");
}

TEST_F(TxnBarrier, AConfirmOfAnUnknownBranchIsRefusedAndReported) {
    EXPECT_EQ(code_of(answer(operation::confirm)), errc::unknown_branch);
    EXPECT_EQ(worked_, 0);
    EXPECT_EQ(answer(operation::try_)->type, verdict::done) << "it left nothing";
}

TEST_F(TxnBarrier, WhatWasFinishedOneWayIsNotFinishedTheOther) {
    answer(operation::try_);
    answer(operation::confirm);
    EXPECT_EQ(code_of(answer(operation::cancel)), errc::conflict);
    EXPECT_EQ(account(), "90/0");
    answer(operation::try_, 2);
    answer(operation::cancel, 2);
    EXPECT_EQ(code_of(answer(operation::confirm, 2)), errc::conflict);
    EXPECT_EQ(account(), "90/0");
}

TEST_F(TxnBarrier, ARefusedTryLeavesNothingButItsAnswer) {
    next_ = reply::refused("not enough");
    EXPECT_EQ(answer(operation::try_)->type, verdict::refused);
    EXPECT_EQ(account(), "100/0");
    next_ = reply::done();
    const auto again = answer(operation::try_);
    EXPECT_EQ(again->type, verdict::refused);
    EXPECT_EQ(again->payload, "not enough");
    EXPECT_EQ(answer(operation::cancel)->type, verdict::done);
    EXPECT_EQ(code_of(answer(operation::confirm)), errc::conflict);
    EXPECT_EQ(account(), "100/0");
    EXPECT_EQ(worked_, 1);
}

TEST_F(TxnBarrier, NotYetIsNoAnswerToRemember) {
    next_ = reply::again(std::chrono::milliseconds(5));
    EXPECT_EQ(answer(operation::try_)->type, verdict::again);
    EXPECT_EQ(account(), "100/0");
    EXPECT_EQ(rows(), 0);
    next_ = reply::done();
    EXPECT_EQ(answer(operation::try_)->type, verdict::done);
    next_ = reply::again(std::chrono::milliseconds(5));
    EXPECT_EQ(answer(operation::confirm)->type, verdict::again);
    EXPECT_EQ(account(), "90/10");
    next_ = reply::done();
    EXPECT_EQ(answer(operation::confirm)->type, verdict::done);
    EXPECT_EQ(account(), "90/0");
}

TEST_F(TxnBarrier, ARefusedConfirmIsPassedOnAndCanBeDoneLater) {
    answer(operation::try_);
    next_ = reply::refused("the ledger is closed");
    EXPECT_EQ(answer(operation::confirm)->type, verdict::refused);
    EXPECT_EQ(account(), "90/10");
    next_ = reply::done();
    EXPECT_EQ(answer(operation::confirm)->type, verdict::done);
    EXPECT_EQ(account(), "90/0");
}

TEST_F(TxnBarrier, WhatTheWorkThrowsIsPassedOn) {
    on_->run("BEGIN IMMEDIATE");
    EXPECT_THROW(
        static_cast<void>(barrier::pass(
            *on_,
            call_of(operation::try_),
            [&]() -> reply {
                work(operation::try_);
                throw std::runtime_error("no");
            }
        )),
        std::runtime_error
    );
    on_->run("ROLLBACK");
    EXPECT_EQ(account(), "100/0");
    EXPECT_EQ(answer(operation::try_)->type, verdict::done);
}

TEST_F(TxnBarrier, ACoordinatorThatWasReplacedIsRefused) {
    EXPECT_TRUE(answer(call_of(operation::try_, 1, 2)));
    EXPECT_EQ(seen_by(answer(call_of(operation::confirm, 1, 1))).epoch, 2u);
    EXPECT_EQ(seen_by(answer(call_of(operation::cancel, 1, 1))).epoch, 2u);
    EXPECT_EQ(account(), "90/10");
    EXPECT_TRUE(answer(call_of(operation::cancel, 1, 3)));
    EXPECT_EQ(seen_by(answer(call_of(operation::try_, 1, 2))).epoch, 3u);
    EXPECT_EQ(account(), "100/0");
}

TEST_F(TxnBarrier, ANumberOfAnOldCopyOfTheLogIsNoticed) {
    answer(operation::try_);
    auto other = call_of(operation::try_, 1, 5);
    other.term = usual_term + 1;
    EXPECT_EQ(seen_by(answer(other)).term, usual_term);
    other.type = operation::cancel;
    EXPECT_EQ(seen_by(answer(other)).term, usual_term);
    EXPECT_EQ(account(), "90/10");
}

TEST_F(TxnBarrier, BranchesAndLogsAreKeptApart) {
    auto second = call_of(operation::try_);
    second.branch = 2;
    EXPECT_TRUE(answer(operation::try_));
    EXPECT_TRUE(answer(second));
    EXPECT_EQ(account(), "80/20");
    auto elsewhere = call_of(operation::try_);
    elsewhere.gid.log = 43;
    EXPECT_TRUE(answer(elsewhere));
    EXPECT_EQ(account(), "70/30");
}

TEST_F(TxnBarrier, ATryWithALowerTokenThanBeforeIsRefused) {
    const auto domain = *token_domain::parse("locks");
    auto first = call_of(operation::try_, 1);
    first.locks.emplace_back("acct", fencing_token{20, domain});
    EXPECT_TRUE(answer(first));
    auto late = call_of(operation::try_, 2);
    late.locks.emplace_back("acct", fencing_token{19, domain});
    EXPECT_EQ(code_of(answer(late)), mortise::errc::stale_token);
    EXPECT_EQ(account(), "90/10");
    EXPECT_EQ(rows(), 1);
    auto again = call_of(operation::confirm, 1);
    again.locks.emplace_back("acct", fencing_token{1, domain});
    EXPECT_TRUE(answer(again)) << "it is decided: no lock can stop it any more";
}

TEST_F(TxnBarrier, WantsATransaction) {
    EXPECT_EQ(
        code_of(barrier::pass(*on_, call_of(operation::try_), [] { return reply(); })),
        mortise::errc::no_transaction
    );
}

TEST_F(TxnBarrier, WhatIsForgottenIsRefusedAllTheSame) {
    for (std::uint64_t number = 1; number <= 5; ++number) {
        answer(operation::try_, number);
        answer(number % 2 == 0 ? operation::confirm : operation::cancel, number);
    }
    answer(operation::cancel, 6);
    answer(operation::try_, 7);
    EXPECT_EQ(rows(), 7);
    auto later = call_of(operation::try_, 1'000);
    later.ended_below = 900;
    answer(later);
    EXPECT_EQ(rows(), 2) << "7 still has its reservation, and 1000 is new";
    const auto before = account();
    for (std::uint64_t number = 1; number <= 6; ++number) {
        EXPECT_EQ(code_of(answer(operation::try_, number)), errc::late_try) << number;
        EXPECT_TRUE(answer(operation::cancel, number));
        EXPECT_TRUE(answer(operation::confirm, number));
    }
    EXPECT_EQ(account(), before);
    EXPECT_EQ(rows(), 2);
    EXPECT_TRUE(answer(operation::cancel, 7));
    EXPECT_TRUE(answer(operation::try_, 901)) << "that has not ended";
}

// A call proves that its own transaction has not ended, so no call can disable a participant.
TEST_F(TxnBarrier, AnEndAboveItsOwnNumberIsNotBelieved) {
    auto forged = call_of(operation::try_, 300);
    forged.ended_below = std::uint64_t{1} << 62;
    EXPECT_TRUE(answer(forged));
    EXPECT_EQ(code_of(answer(operation::try_, 299)), errc::late_try);
    EXPECT_TRUE(answer(operation::try_, 301));
    EXPECT_TRUE(answer(operation::confirm, 300));
}

TEST_F(TxnBarrier, ForgetsByItselfWhateverItsCallsComeTo) {
    std::uint64_t number = 0;
    std::int64_t most = 0;
    const auto calls = [&](std::uint64_t count, operation end, const reply& answer_of_tries) {
        for (std::uint64_t i = 0; i < count; ++i) {
            auto call = call_of(operation::try_, ++number);
            call.ended_below = number - 1;
            next_ = answer_of_tries;
            answer(call);
            call.type = end;
            next_ = reply::done();
            answer(call);
            most = std::max(most, rows());
        }
    };
    calls(2'000, operation::confirm, reply::done());
    calls(2'000, operation::cancel, reply::done());
    calls(2'000, operation::cancel, reply::refused("no"));
    EXPECT_LT(most, 600) << "of 6,000";
}

TEST_F(TxnBarrier, ManyBranchesOfOneTransactionAreForgottenAsWell) {
    for (std::uint32_t branch = 1; branch <= 200; ++branch) {
        auto call = call_of(operation::cancel, 1);
        call.branch = branch;
        answer(call);
    }
    EXPECT_EQ(rows(), 200);
    auto later = call_of(operation::cancel, 1'000);
    later.ended_below = 900;
    for (int i = 0; i < 8; ++i)
        answer(later);
    EXPECT_EQ(rows(), 1);
}

// One that has nothing open is told of the ends of all others.
TEST_F(TxnBarrier, EndsOfOneParticipantAreNotThoseOfAnother) {
    auto other = call_of(operation::try_, 2);
    other.participant = "other";
    answer(other);
    other.type = operation::confirm;
    answer(other);
    auto later = call_of(operation::try_, 1'000);
    later.ended_below = 1'000;
    answer(later);
    answer(operation::cancel, 1'001);
    EXPECT_EQ(rows(), 3) << "the other one may still be asked about that";
    auto late = call_of(operation::try_, 3);
    late.participant = "other";
    EXPECT_TRUE(answer(late)) << "its try was on its way";
    later = call_of(operation::try_, 1'002);
    later.participant = "other";
    later.ended_below = 3;
    answer(later);
    EXPECT_EQ(rows(), 5) << "that is little news: it waits for more";
    later.gid.number = 1'003;
    later.ended_below = 1'000;
    answer(later);
    EXPECT_EQ(rows(), 5) << "2 is forgotten, 1003 is new";
}

TEST_F(TxnBarrier, APurgeForgetsAllThatIsOverAtOnce) {
    for (std::uint64_t number = 1; number <= 100; ++number)
        answer(operation::cancel, number);
    auto later = call_of(operation::cancel, 1'000);
    later.ended_below = 900;
    answer(later);
    EXPECT_EQ(rows(), 69) << "a call looks at a few";
    EXPECT_EQ(barrier::purge(*on_, 50), 50u);
    EXPECT_EQ(barrier::purge(*on_, 50), 18u);
    EXPECT_EQ(barrier::purge(*on_, 50), 0u);
    EXPECT_EQ(rows(), 1);
}

// As a version before this one left it.
TEST_F(TxnBarrier, WhatAnOlderVersionHasForgottenStaysForgotten) {
    answer(operation::cancel, 1);
    on_->run("DROP TABLE mortise_txn_ends");
    on_->run("CREATE TABLE mortise_txn_seen("
             "log INTEGER PRIMARY KEY, ended_below INTEGER NOT NULL,"
             " purged_below INTEGER NOT NULL)");
    on_->run("INSERT INTO mortise_txn_seen VALUES(42, 900, 500)");
    EXPECT_EQ(code_of(answer(operation::try_, 2)), errc::late_try);
    EXPECT_TRUE(answer(operation::try_, 500));
    EXPECT_EQ(rows(), 1) << "and what it had left is forgotten now";
}

TEST_F(TxnBarrier, ASecondPassOfACallIsARepetition) {
    const auto call = call_of(operation::try_);
    const auto both = within([&] {
        EXPECT_TRUE(barrier::pass(*on_, call, [&] { return work(operation::try_); }));
        return barrier::pass(*on_, call, [&] { return work(operation::try_); });
    });
    EXPECT_EQ(both->payload, "ok");
    EXPECT_EQ(worked_, 1);
    EXPECT_EQ(account(), "90/10");
}

TEST_F(TxnBarrier, ShowsReservationsThatAreOverdue) {
    auto late = call_of(operation::try_, 1);
    late.time_left = std::chrono::milliseconds(-5);
    answer(late);
    answer(operation::try_, 2);
    auto finished = call_of(operation::try_, 3);
    finished.time_left = std::chrono::milliseconds(0);
    answer(finished);
    answer(operation::confirm, 3);
    std::vector<barrier::overdue_branch> found;
    while (found.empty())
        found = barrier::overdue(*on_, 10);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].gid, (gid{42, 1}));
    EXPECT_EQ(found[0].branch, 1u);
    EXPECT_EQ(found[0].participant, "account");
}

TEST_F(TxnBarrier, AParticipantMayGiveAnOverdueReservationBackItself) {
    auto late = call_of(operation::try_);
    late.time_left = std::chrono::milliseconds(-5);
    answer(late);
    std::vector<barrier::overdue_branch> found;
    while (found.empty())
        found = barrier::overdue(*on_, 10);
    const auto give_back = [&] {
        return within([&] {
            return barrier::give_back(*on_, found[0], [&] { return work(operation::cancel); });
        });
    };
    EXPECT_TRUE(give_back());
    EXPECT_EQ(account(), "100/0");
    EXPECT_TRUE(barrier::overdue(*on_, 10).empty());
    EXPECT_TRUE(give_back());
    EXPECT_TRUE(answer(operation::cancel)) << "it was right";
    EXPECT_EQ(account(), "100/0") << "once";
    EXPECT_EQ(code_of(answer(operation::confirm)), errc::conflict)
        << "it was wrong, and that shows";
    EXPECT_EQ(code_of(answer(operation::try_)), errc::late_try);
}

TEST_F(TxnBarrier, NothingElseIsGivenBack) {
    barrier::overdue_branch branch;
    branch.gid = {42, 1};
    branch.branch = 1;
    const auto give_back = [&] {
        return within([&] {
            return barrier::give_back(*on_, branch, [&] { return work(operation::cancel); });
        });
    };
    EXPECT_EQ(code_of(give_back()), errc::unknown_branch);
    answer(operation::try_);
    answer(operation::confirm);
    EXPECT_EQ(code_of(give_back()), errc::conflict);
    const auto outside = barrier::give_back(*on_, branch, [] { return reply::done(); });
    EXPECT_EQ(code_of(outside), mortise::errc::no_transaction);
    EXPECT_EQ(account(), "90/0");
}

}  // namespace
}  // namespace mortise::txn::barrier_test
