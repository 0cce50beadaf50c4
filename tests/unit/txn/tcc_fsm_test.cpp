// SPDX-License-Identifier: BSL-1.0
#include "core/tcc_fsm.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <ostream>
#include <string>
#include <vector>

namespace mortise::txn::core {

void PrintTo(const tcc_fsm::step& step, std::ostream* to) {
    const char* names[] = {"try", "confirm", "cancel", "decide_confirm", "decide_cancel", "settle"};
    *to << names[static_cast<int>(step.type)] << ' ' << step.branch;
}

namespace tcc_fsm_test {
namespace {

using action = tcc_fsm::action;
using phase = tcc_fsm::phase;
using steps = tcc_fsm::steps;
using step = tcc_fsm::step;

std::vector<branch> branches(std::initializer_list<std::vector<branch_number>> after) {
    std::vector<branch> result;
    for (const auto& each : after)
        result.emplace_back().after = each;
    return result;
}

/// What one report leads to.
template <class Report>
steps after(Report report) {
    steps next;
    report(next);
    return next;
}

class TccFsm : public testing::Test {
protected:
    steps begin() {
        return after([&](steps& next) { fsm_.begin(next); });
    }
    steps tried(branch_number branch) {
        return after([&](steps& next) { fsm_.tried(branch, next); });
    }
    steps refused(branch_number branch) {
        return after([&](steps& next) { fsm_.try_refused(branch, next); });
    }
    steps failed(branch_number branch) {
        return after([&](steps& next) { fsm_.try_failed(branch, next); });
    }
    steps abort() {
        return after([&](steps& next) { fsm_.abort(next); });
    }
    steps decided(bool confirm) {
        return after([&](steps& next) { fsm_.decided(confirm, next); });
    }
    steps finished(branch_number branch) {
        return after([&](steps& next) { fsm_.finished(branch, next); });
    }

    tcc_fsm fsm_{branches({{}, {}, {}})};
};

/// The same with an order: 1, then 2 and 3, then 4.
class TccFsmInOrder : public TccFsm {
protected:
    TccFsmInOrder() { fsm_ = tcc_fsm(branches({{}, {1}, {1}, {2, 3}})); }
};

/// The only branch, which is committed by its try.
class TccFsmAlone : public TccFsm {
protected:
    TccFsmAlone() { fsm_ = tcc_fsm(branches({{}}), true); }
    steps was_committed() {
        return after([&](steps& next) { fsm_.was_committed(1, next); });
    }
};

TEST_F(TccFsmAlone, ATryThatIsDoneNeedsNoConfirm) {
    EXPECT_EQ(begin(), (steps{{action::send_try, 1}}));
    EXPECT_EQ(tried(1), steps{{action::decide_confirm}});
    EXPECT_EQ(decided(true), steps{{action::settle}});
}

TEST_F(TccFsmAlone, ARefusalNeedsNoCancel) {
    begin();
    EXPECT_EQ(refused(1), steps{{action::decide_cancel}});
    EXPECT_EQ(decided(false), steps{{action::settle}});
}

TEST_F(TccFsmAlone, AnUnclearTryIsCancelledBeforeTheDecision) {
    begin();
    EXPECT_EQ(failed(1), (steps{{action::send_cancel, 1}}));
    EXPECT_TRUE(fsm_.presuming());
    EXPECT_EQ(finished(1), steps{{action::decide_cancel}});
    EXPECT_EQ(decided(false), steps{{action::settle}});
}

TEST_F(TccFsmAlone, ACancelThatFindsACommitConfirms) {
    begin();
    failed(1);
    EXPECT_EQ(was_committed(), steps{{action::decide_confirm}});
    EXPECT_EQ(decided(true), steps{{action::settle}});
    EXPECT_TRUE(fsm_.confirming());
}

TEST_F(TccFsmAlone, AnAbortWaitsForTheTry) {
    begin();
    EXPECT_EQ(abort(), steps());
    EXPECT_EQ(tried(1), steps{{action::decide_confirm}}) << "it was too late";
    EXPECT_EQ(decided(true), steps{{action::settle}});
    fsm_ = tcc_fsm(branches({{}}), true);
    begin();
    abort();
    EXPECT_EQ(failed(1), (steps{{action::send_cancel, 1}}));
    fsm_ = tcc_fsm(branches({{}}), true);
    begin();
    abort();
    EXPECT_EQ(refused(1), steps{{action::decide_cancel}});
    fsm_ = tcc_fsm(branches({{}}), true);
    EXPECT_EQ(abort(), steps{{action::decide_cancel}}) << "nothing was sent";
}

TEST_F(TccFsmAlone, WhatAnEarlierCoordinatorLeftIsAsked) {
    EXPECT_EQ(
        after([&](steps& next) { fsm_.resume_undecided(next); }), (steps{{action::send_cancel, 1}})
    );
    fsm_.stuck(1);
    EXPECT_EQ(
        after([&](steps& next) { fsm_.unstick(1, next); }), (steps{{action::send_cancel, 1}})
    );
    EXPECT_EQ(was_committed(), steps{{action::decide_confirm}});
    EXPECT_EQ(decided(true), steps{{action::settle}});
}

TEST_F(TccFsmInOrder, ABranchThatIsDoneForGoodIsNotCalledAgain) {
    const auto for_good = [&](branch_number branch) {
        return after([&](steps& next) { fsm_.tried_for_good(branch, next); });
    };
    begin();
    EXPECT_EQ(for_good(1), (steps{{action::send_try, 2}, {action::send_try, 3}}));
    tried(2);
    EXPECT_EQ(for_good(3), (steps{{action::send_try, 4}}));
    EXPECT_EQ(tried(4), steps{{action::decide_confirm}});
    EXPECT_EQ(decided(true), (steps{{action::send_confirm, 2}}));
    EXPECT_EQ(finished(2), (steps{{action::send_confirm, 4}}));
    EXPECT_EQ(finished(4), steps{{action::settle}});
}

TEST_F(TccFsm, BranchesThatAreDoneForGoodNeedNoCancel) {
    begin();
    after([&](steps& next) { fsm_.tried_for_good(1, next); });
    EXPECT_EQ(refused(2), steps{{action::decide_cancel}});
    EXPECT_EQ(decided(false), steps());
    EXPECT_EQ(after([&](steps& next) { fsm_.tried_for_good(3, next); }), steps{{action::settle}});
}

TEST_F(TccFsm, ConfirmsWhenEveryTryHasSucceededAndItIsDecided) {
    EXPECT_EQ(
        begin(), (steps{{action::send_try, 1}, {action::send_try, 2}, {action::send_try, 3}})
    );
    EXPECT_EQ(tried(2), steps());
    EXPECT_EQ(tried(1), steps());
    EXPECT_EQ(tried(3), steps{{action::decide_confirm}});
    EXPECT_EQ(fsm_.at(), phase::deciding);
    EXPECT_EQ(
        decided(true),
        (steps{{action::send_confirm, 1}, {action::send_confirm, 2}, {action::send_confirm, 3}})
    );
    EXPECT_EQ(finished(1), steps());
    EXPECT_EQ(finished(3), steps());
    EXPECT_EQ(finished(2), steps{{action::settle}});
    EXPECT_EQ(fsm_.at(), phase::settled);
}

TEST_F(TccFsm, ARefusalCancelsWhatWasTriedAndNotWhoRefused) {
    begin();
    tried(1);
    EXPECT_EQ(refused(2), steps{{action::decide_cancel}});
    EXPECT_EQ(tried(3), steps()) << "too late to matter";
    EXPECT_EQ(decided(false), (steps{{action::send_cancel, 1}, {action::send_cancel, 3}}));
    EXPECT_EQ(finished(1), steps());
    EXPECT_EQ(finished(3), steps{{action::settle}});
}

TEST_F(TccFsm, ATryThatFailedIsCancelledForItMayHaveSucceeded) {
    begin();
    tried(1);
    tried(2);
    EXPECT_EQ(failed(3), steps{{action::decide_cancel}});
    EXPECT_EQ(
        decided(false),
        (steps{{action::send_cancel, 1}, {action::send_cancel, 2}, {action::send_cancel, 3}})
    );
}

TEST_F(TccFsm, ATryUnderWayIsCancelledWhenItHasEnded) {
    begin();
    tried(1);
    EXPECT_EQ(abort(), steps{{action::decide_cancel}});
    EXPECT_EQ(decided(false), (steps{{action::send_cancel, 1}})) << "2 and 3 are not back";
    EXPECT_EQ(tried(2), (steps{{action::send_cancel, 2}}));
    EXPECT_EQ(finished(1), steps());
    EXPECT_EQ(finished(2), steps());
    EXPECT_EQ(refused(3), steps{{action::settle}}) << "nothing to give back";
}

TEST_F(TccFsm, AbortsOnlyUntilItIsToBeDecided) {
    begin();
    for (branch_number each : {1u, 2u, 3u})
        tried(each);
    EXPECT_EQ(abort(), steps());
    decided(true);
    EXPECT_EQ(abort(), steps());
}

TEST_F(TccFsm, CanBeAbortedBeforeAnythingWasSent) {
    EXPECT_EQ(abort(), steps{{action::decide_cancel}});
    EXPECT_EQ(decided(false), steps{{action::settle}});
}

TEST_F(TccFsm, TheDecisionMayBeTheOtherOneThanWanted) {
    begin();
    for (branch_number each : {1u, 2u})
        tried(each);
    EXPECT_EQ(tried(3), steps{{action::decide_confirm}});
    EXPECT_EQ(
        decided(false),
        (steps{{action::send_cancel, 1}, {action::send_cancel, 2}, {action::send_cancel, 3}})
    ) << "a lock was lost meanwhile";
}

TEST_F(TccFsm, AStuckBranchBlocksTheEndAndCanBeSentAgain) {
    begin();
    for (branch_number each : {1u, 2u, 3u})
        tried(each);
    decided(true);
    finished(1);
    fsm_.stuck(2);
    EXPECT_TRUE(fsm_.is_stuck(2));
    EXPECT_EQ(finished(3), steps());
    EXPECT_EQ(
        after([&](steps& next) { fsm_.unstick(2, next); }), (steps{{action::send_confirm, 2}})
    );
    EXPECT_FALSE(fsm_.is_stuck(2));
    EXPECT_EQ(finished(2), steps{{action::settle}});
}

TEST_F(TccFsm, AStuckBranchCanBeDeclaredFinished) {
    begin();
    for (branch_number each : {1u, 2u, 3u})
        tried(each);
    decided(true);
    fsm_.stuck(2);
    finished(1);
    finished(3);
    EXPECT_EQ(finished(2), steps{{action::settle}});
}

TEST_F(TccFsmInOrder, TriesAndConfirmsInThatOrder) {
    EXPECT_EQ(begin(), (steps{{action::send_try, 1}}));
    EXPECT_EQ(tried(1), (steps{{action::send_try, 2}, {action::send_try, 3}}));
    EXPECT_EQ(tried(3), steps());
    EXPECT_EQ(tried(2), (steps{{action::send_try, 4}}));
    EXPECT_EQ(tried(4), steps{{action::decide_confirm}});
    EXPECT_EQ(decided(true), (steps{{action::send_confirm, 1}}));
    EXPECT_EQ(finished(1), (steps{{action::send_confirm, 2}, {action::send_confirm, 3}}));
    EXPECT_EQ(finished(2), steps());
    EXPECT_EQ(finished(3), (steps{{action::send_confirm, 4}}));
    EXPECT_EQ(finished(4), steps{{action::settle}});
}

TEST_F(TccFsmInOrder, CancelsInTheOppositeOrder) {
    begin();
    tried(1);
    tried(2);
    tried(3);
    EXPECT_EQ(failed(4), steps{{action::decide_cancel}});
    EXPECT_EQ(decided(false), (steps{{action::send_cancel, 4}}));
    EXPECT_EQ(finished(4), (steps{{action::send_cancel, 2}, {action::send_cancel, 3}}));
    EXPECT_EQ(finished(3), steps());
    EXPECT_EQ(finished(2), (steps{{action::send_cancel, 1}}));
}

TEST_F(TccFsmInOrder, WhatWasNeverSentNeedsNoCancel) {
    begin();
    EXPECT_EQ(refused(1), steps{{action::decide_cancel}});
    EXPECT_EQ(decided(false), steps{{action::settle}});
}

TEST_F(TccFsm, ResumedWithoutADecisionItCancelsAll) {
    EXPECT_EQ(
        after([&](steps& next) { fsm_.resume_undecided(next); }),
        (steps{{action::send_cancel, 1}, {action::send_cancel, 2}, {action::send_cancel, 3}})
    );
    EXPECT_TRUE(fsm_.presuming());
    EXPECT_EQ(finished(1), steps());
    EXPECT_EQ(finished(2), steps());
    EXPECT_EQ(finished(3), steps{{action::decide_cancel}}) << "nobody has confirmed it";
    EXPECT_EQ(decided(false), steps{{action::settle}});
    EXPECT_FALSE(fsm_.presuming());
}

TEST_F(TccFsm, WhatIsPresumedCanBeDecidedByHand) {
    after([&](steps& next) { fsm_.resume_undecided(next); });
    EXPECT_EQ(finished(1), steps());
    EXPECT_EQ(decided(false), steps());
    EXPECT_FALSE(fsm_.presuming());
    EXPECT_EQ(finished(2), steps());
    EXPECT_EQ(finished(3), steps{{action::settle}});
}

TEST_F(TccFsm, ContradictedItCancelsTheOthersAndDecidesNothing) {
    begin();
    tried(1);
    EXPECT_EQ(
        after([&](steps& next) { fsm_.contradicted(2, next); }), (steps{{action::send_cancel, 1}})
    );
    EXPECT_TRUE(fsm_.is_stuck(2));
    EXPECT_EQ(tried(3), (steps{{action::send_cancel, 3}}));
    EXPECT_EQ(finished(1), steps());
    EXPECT_EQ(finished(3), steps());
    EXPECT_EQ(finished(2), steps{{action::decide_cancel}}) << "somebody has skipped it";
    EXPECT_EQ(decided(false), steps{{action::settle}});
}

TEST_F(TccFsm, ResumedWithADecisionItFinishesTheRest) {
    for (const bool confirm : {true, false}) {
        fsm_ = tcc_fsm(branches({{}, {}, {}}));
        const auto type = confirm ? action::send_confirm : action::send_cancel;
        EXPECT_EQ(
            after([&](steps& next) {
                fsm_.resume_decided(confirm, {false, true, false}, next);
            }),
            (steps{{type, 1}, {type, 3}})
        );
        EXPECT_EQ(finished(3), steps());
        EXPECT_EQ(finished(1), steps{{action::settle}});
    }
}

TEST_F(TccFsm, ResumedWithAllFinishedItOnlyEnds) {
    EXPECT_EQ(
        after([&](steps& next) {
            fsm_.resume_decided(true, {true, true, true}, next);
        }),
        steps{{action::settle}}
    );
}

}  // namespace
}  // namespace tcc_fsm_test
}  // namespace mortise::txn::core
