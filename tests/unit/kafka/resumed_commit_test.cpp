// SPDX-License-Identifier: BSL-1.0
// A commit that is called again, as librdkafka had no answer yet: its late answer must not be taken
// for the answer to the next call.
#include "support/raw_kafka.hpp"
#include "unit/kafka/mock_cluster.hpp"

#include <gtest/gtest.h>

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <string>

namespace mortise::test::resumed_commit_test {
namespace {

using commit_function = rd_kafka_error_t* (*)(rd_kafka_t*, int);
using begin_function = rd_kafka_error_t* (*)(rd_kafka_t*);

/// How long the next call to commit may take, at most; zero: as long as it was told.
std::atomic<int> next_commit_ms{0};
std::atomic<int> commits{0};
/// So many calls to begin are given what was left behind: success, and nothing is done.
std::atomic<int> answers_left{0};
/// The same from the next commit on that is resumed.
std::atomic<int> answers_to_leave{0};
/// A commit that is resumed is given an answer that was left behind, and nothing is done.
enum class left_answer { none, success, wrong_state };
std::atomic<left_answer> left_for_commit{left_answer::none};

template <class Function>
Function real(const char* name) {
    return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// The library's own stand behind these.
extern "C" rd_kafka_error_t* rd_kafka_commit_transaction(rd_kafka_t* by, int limit_ms) {
    static const auto commit = real<commit_function>("rd_kafka_commit_transaction");
    if (++commits > 1) {
        answers_left += answers_to_leave.exchange(0);
        switch (left_for_commit.exchange(left_answer::none)) {
        case left_answer::none:
            break;
        case left_answer::success:
            return nullptr;
        case left_answer::wrong_state:
            return ::rd_kafka_error_new(RD_KAFKA_RESP_ERR__STATE, "wrong state");
        }
    }
    const int at_most = next_commit_ms.exchange(0);
    return commit(by, at_most > 0 ? std::min(at_most, limit_ms) : limit_ms);
}

extern "C" rd_kafka_error_t* rd_kafka_begin_transaction(rd_kafka_t* by) {
    static const auto begin = real<begin_function>("rd_kafka_begin_transaction");
    if (answers_left > 0) {
        --answers_left;
        return nullptr;
    }
    return begin(by);
}

namespace {

using kind = kafka::transaction_outcome::kind;

std::string text(const kafka::transaction_outcome& outcome) {
    return std::string(to_string(outcome.type)) + ": " + outcome.code.message() + "; " +
           outcome.text;
}

/// Runs transactions until the commit of one is resumed: on a busy machine the answer may be there
/// before a short call returns.
kafka::transaction_outcome
run_resumed(kafka_user& producer, int first_call_ms, left_answer left = left_answer::none) {
    constexpr int tries_max = 50;
    for (int tries = 0; tries < tries_max; ++tries) {
        commits = 0;
        next_commit_ms = first_call_ms;
        left_for_commit = left;
        auto outcome = producer.run(one_with_mark());
        if (commits > 1 || outcome.type != kind::committed)
            return outcome;
    }
    ADD_FAILURE() << "no commit was resumed";
    return {};
}

// In 2.0.2 the calls after one that was resumed may be told what was meant for that, and do
// nothing.
TEST(KafkaResumedCommit, LeavesNothingBehindThatTheNextTransactionTakesForItsOwn) {
    mock_cluster broker;
    kafka_user producer(broker.config(), "id");
    ASSERT_FALSE(producer.init());
    broker.delay_answers(5);
    for (int left = 0; left < 3; ++left) {
        answers_to_leave = left;
        const auto first = run_resumed(producer, 1);
        ASSERT_EQ(first.type, kind::committed) << left << ": " << text(first);
        const auto second = producer.run(one_with_mark());
        ASSERT_EQ(second.type, kind::committed) << left << ": " << text(second);
        EXPECT_EQ(answers_left, 0);
    }
}

// Another answer that was left behind lets a phase of the commit be skipped; the next is refused.
TEST(KafkaResumedCommit, IsCalledAgainAfterAPhaseWasSkipped) {
    mock_cluster broker;
    kafka_user producer(broker.config(), "id");
    ASSERT_FALSE(producer.init());
    broker.delay_answers(50);
    const auto outcome = run_resumed(producer, 10, left_answer::wrong_state);
    EXPECT_EQ(outcome.type, kind::committed) << text(outcome);
    EXPECT_EQ(left_for_commit, left_answer::none);
    EXPECT_EQ(producer.run(one_with_mark()).type, kind::committed);
}

TEST(KafkaResumedCommit, IsNotBelievedWhileTheTransactionIsOpen) {
    mock_cluster broker;
    kafka_user producer(broker.config(), "id");
    ASSERT_FALSE(producer.init());
    broker.delay_answers(50);
    const auto outcome = run_resumed(producer, 10, left_answer::success);
    EXPECT_EQ(outcome.type, kind::lost) << text(outcome);
    EXPECT_EQ(outcome.code, kafka::errc::uncertain) << text(outcome);
    EXPECT_EQ(left_for_commit, left_answer::none);
}

TEST(KafkaResumedCommit, IsRareAsRecordsAreWaitedForBefore) {
    mock_cluster broker;
    kafka_user producer(broker.config(), "id");
    ASSERT_FALSE(producer.init());
    ASSERT_EQ(producer.run(batch_of("topic", {"value"})).type, kind::committed);
    broker.delay_answers(150);
    commits = 0;
    const auto outcome = producer.run(batch_of("topic", {"value"}));
    ASSERT_EQ(outcome.type, kind::committed) << text(outcome);
    EXPECT_EQ(commits, 1);
}

// Nothing is committed to find out why a transaction has failed.
TEST(KafkaResumedCommit, IsNoQuestion) {
    mock_cluster broker;
    kafka_user producer(broker.config(), "id");
    ASSERT_FALSE(producer.init());
    commits = 0;
    broker.answer(mock_cluster::request::produce, RD_KAFKA_RESP_ERR_INVALID_TXN_STATE);
    const auto outcome = producer.run(one_with_mark());
    EXPECT_EQ(outcome.type, kind::again) << text(outcome);
    EXPECT_EQ(outcome.code.value(), RD_KAFKA_RESP_ERR_INVALID_TXN_STATE) << text(outcome);
    EXPECT_EQ(commits, 0);
    EXPECT_EQ(producer.run(one_with_mark()).type, kind::committed);
}

}  // namespace
}  // namespace mortise::test::resumed_commit_test
