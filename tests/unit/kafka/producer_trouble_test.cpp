// SPDX-License-Identifier: BSL-1.0
// A transactional producer whose broker goes away in each of its steps: nothing is lost, nothing
// comes twice, and it is never worse than `lost`.
#include "mortise/coro/clock.hpp"
#include "support/at_point.hpp"
#include "support/eventually.hpp"
#include "support/machine_delay.hpp"
#include "support/proxied_broker.hpp"
#include "unit/kafka/producer_fixture.hpp"

#include <boost/asio/error.hpp>

#include <chrono>

namespace mortise::test::producer_trouble_test {
namespace {

using namespace std::chrono_literals;
using kafka::transaction_outcome;

std::string text(const transaction_outcome& outcome) {
    return std::string(to_string(outcome.type)) + ": " + outcome.code.message() + "; " +
           outcome.text;
}

class KafkaTrouble : public kafka_producer_fixture {
protected:
    KafkaTrouble() : kafka_producer_fixture(killable_kafka()) {}
    ~KafkaTrouble() override { killable_kafka(); }  // what it stopped must not stop its objects

    static kafka::transaction_batch with_mark(const std::string& topic, const std::string& value) {
        auto batch = batch_of(topic, {value});
        batch.last = kafka::record(topic, "mark", value + "!");
        return batch;
    }
};

TEST_F(KafkaTrouble, InitEndsInTimeAndSucceedsWhenTheBrokerIsThere) {
    auto hasty = config();
    hasty.init_wait_max = 500ms;
    kafka_user producer(hasty, id_);
    broker_.kill();
    const machine_delay delay;
    const clock::time_point begin = clock::now();
    const error_code ec = producer.init();
    EXPECT_EQ(ec, mortise::condition::retryable) << ec.message();
    EXPECT_LT(clock::now() - begin, 5s + delay.so_far());
    broker_.start();
    EXPECT_TRUE(eventually([&] { return !producer.init(); }, 20s));
    EXPECT_EQ(producer.run(batch_of(topic_, {"a"})).type, kind::committed);
    EXPECT_EQ(seen(), texts{"a"});
}

TEST_F(KafkaTrouble, ABrokerThatIsDownBeforeATransactionCostsATry) {
    auto hasty = config();
    // Longer than a broker that has just started needs for its first record on a busy machine.
    hasty.settings["message.timeout.ms"] = "8000";
    hasty.answer_wait_max = 500ms;
    const auto producer = make_ready(hasty);
    broker_.kill();
    const auto outcome = producer->run(batch_of(topic_, {"a"}));
    EXPECT_EQ(outcome.type, kind::again) << text(outcome);
    EXPECT_EQ(outcome.code, mortise::condition::retryable) << text(outcome);
    broker_.start();
    const auto next = producer->run(batch_of(topic_, {"a"}));
    EXPECT_EQ(next.type, kind::committed) << text(next);
    EXPECT_EQ(seen(), texts{"a"});
}

TEST_F(KafkaTrouble, ABrokerThatIsAwayWhileRecordsGoOutCostsATry) {
    auto hasty = config();
    hasty.settings["message.timeout.ms"] = "1000";
    hasty.settings["transaction.timeout.ms"] = "60000";
    const auto producer = make_ready(hasty);
    ASSERT_EQ(producer->run(batch_of(topic_, {"a"})).type, kind::committed);
    broker_.suspend();
    producer->start(batch_of(topic_, {"b"}));
    eventually([] { return false; }, 4s);
    broker_.resume();
    const auto outcome = producer->finish();
    EXPECT_NE(outcome.type, kind::committed) << text(outcome);
    const auto next = outcome.type == kind::lost ? make_ready() : nullptr;
    auto& by = next ? *next : *producer;
    // The partition may have no leader for a moment.
    EXPECT_TRUE(eventually([&] { return by.run(batch_of(topic_, {"c"})).type == kind::committed; })
    );
    EXPECT_EQ(seen(), (texts{"a", "c"}));
}

TEST_F(KafkaTrouble, AConnectionThatWasLostMakesTheNextCommitTheLastOfItsProducer) {
    proxied_broker& far = proxied_broker::get();
    far.broker().create_topic(topic_);
    auto through = config();
    through.bootstrap_servers = "127.0.0.1:" + std::to_string(far.proxy().port());
    const auto producer = make_ready(through);
    const auto first = producer->run(batch_of(topic_, {"a"}));
    ASSERT_EQ(first.type, kind::committed) << text(first);
    EXPECT_FALSE(first.renew);
    far.broker().suspend();
    producer->start(with_mark(topic_, "b"));  // it is out before its commit
    eventually([] { return false; }, 300ms);
    far.proxy().cut_all();  // in the middle of a request
    far.broker().resume();
    const auto second = producer->finish();
    ASSERT_EQ(second.type, kind::committed) << text(second);
    EXPECT_TRUE(second.renew);
}

#ifdef MORTISE_PLANT_BUGS  // the points are compiled in

/// After the records of a transaction are at the broker, and before its mark.
constexpr const char* before_mark = "kafka.before_last";
/// After its mark is there, too, and before it is committed.
constexpr const char* before_commit = "kafka.commit";

/// Trouble that begins at each of these points.
class KafkaTroubleAt : public KafkaTrouble, public testing::WithParamInterface<const char*> {
public:
    static auto points() { return testing::Values(before_mark, before_commit); }
    static std::string name_of(const testing::TestParamInfo<const char*>& point) {
        return point.param == std::string(before_mark) ? "BeforeItsMark" : "BeforeItsCommit";
    }
};
INSTANTIATE_TEST_SUITE_P(Broker, KafkaTroubleAt, KafkaTroubleAt::points(), KafkaTroubleAt::name_of);

TEST_F(KafkaTrouble, ABrokerThatIsStoppedDuringACommitIsWaitedFor) {
    const auto producer = make_ready();
    const at_point middle(before_commit, [this] { broker_.suspend(); });
    producer->start(batch_of(topic_, {"a"}));
    ASSERT_TRUE(eventually([&] { return middle.hit(); }));
    eventually([] { return false; }, 3s);
    broker_.resume();
    const auto outcome = producer->finish();
    ASSERT_EQ(outcome.type, kind::committed) << text(outcome);
    EXPECT_TRUE(outcome.renew);
    EXPECT_EQ(seen(), texts{"a"});
}

TEST_P(KafkaTroubleAt, ABrokerThatIsKilledIsWaitedFor) {
    const auto producer = make_ready();
    const at_point middle(GetParam(), [this] { broker_.kill(); });
    producer->start(with_mark(topic_, "a"));
    ASSERT_TRUE(eventually([&] { return middle.hit(); }));
    broker_.start();
    const auto outcome = producer->finish();
    // Committed, or not; but if it does not know, a new producer does.
    if (outcome.type != kind::committed)
        make_ready();
    const texts now = seen();
    EXPECT_TRUE(now.empty() || now == (texts{"a", "a!"})) << now.size();
    EXPECT_TRUE(now.empty() || outcome.type != kind::again);
    EXPECT_EQ(make_ready()->run(batch_of(topic_, {"b"})).type, kind::committed);
    EXPECT_EQ(seen().size(), now.size() + 1);
}

TEST_P(KafkaTroubleAt, ABrokerThatDoesNotAnswerInTimeLeavesItUncertain) {
    auto hasty = config();
    hasty.settings["message.timeout.ms"] = "5000";
    hasty.commit_wait_max = 1s;
    auto producer = make_ready(hasty);
    const at_point middle(GetParam(), [this] { broker_.suspend(); });
    const auto outcome = producer->run(with_mark(topic_, "a"));
    ASSERT_TRUE(middle.hit());
    ASSERT_EQ(outcome.type, kind::lost) << text(outcome);
    EXPECT_TRUE(outcome.code == kafka::errc::uncertain) << text(outcome);
    producer.reset();
    broker_.resume();
    const auto next = make_ready();
    const texts now = seen();
    EXPECT_TRUE(now.empty() || now == (texts{"a", "a!"})) << now.size();
    EXPECT_EQ(next->run(batch_of(topic_, {"b"})).type, kind::committed);
    EXPECT_EQ(seen().size(), now.size() + 1);
}

TEST_F(KafkaTrouble, ARivalThatBeginsInTheMiddleOfATransactionAbortsIt) {
    const auto first = make_ready();
    std::unique_ptr<kafka_user> second;
    const at_point middle(before_mark, [&] { second = make_ready(); });
    const auto outcome = first->run(with_mark(topic_, "a"));
    ASSERT_TRUE(middle.hit());
    ASSERT_EQ(outcome.type, kind::lost) << text(outcome);
    EXPECT_EQ(outcome.code, kafka::condition::fenced) << text(outcome);
    EXPECT_EQ(second->run(with_mark(topic_, "b")).type, kind::committed);
    EXPECT_EQ(seen(), (texts{"b", "b!"}));
}

TEST_F(KafkaTrouble, StopEndsWhatRuns) {
    const auto producer = make_ready();
    const at_point middle(before_mark, [this] { broker_.suspend(); });
    producer->start(with_mark(topic_, "a"));
    ASSERT_TRUE(eventually([&] { return middle.hit(); }));
    const machine_delay delay;
    const clock::time_point begin = clock::now();
    producer->producer().stop();
    const auto outcome = producer->finish();
    EXPECT_EQ(outcome.type, kind::lost);
    EXPECT_EQ(outcome.code, asio::error::operation_aborted) << text(outcome);
    EXPECT_LT(clock::now() - begin, 5s + delay.so_far());
}

TEST_F(KafkaTrouble, TheDestructorDoesNotWaitForWhatRuns) {
    const auto producer = make_ready();
    const at_point middle(before_mark, [this] { broker_.suspend(); });
    producer->start(with_mark(topic_, "a"));
    ASSERT_TRUE(eventually([&] { return middle.hit(); }));
    const machine_delay delay;
    const clock::time_point begin = clock::now();
    producer->destroy();
    EXPECT_LT(clock::now() - begin, 200ms + delay.so_far());
    broker_.resume();
    EXPECT_EQ(make_ready()->run(batch_of(topic_, {"b"})).type, kind::committed);
    const texts now = seen();
    EXPECT_TRUE(now == texts{"b"} || now == (texts{"a", "a!", "b"})) << now.size();
}

#endif

}  // namespace
}  // namespace mortise::test::producer_trouble_test
