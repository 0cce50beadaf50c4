// SPDX-License-Identifier: BSL-1.0
// What a processor commits of a batch when some of its records come to nothing.
#include "mortise/kafka/error.hpp"
#include "processor/made_batch.hpp"

#include <gtest/gtest.h>

#include <librdkafka/rdkafka.h>

#include <map>
#include <string>
#include <vector>

namespace mortise::test::made_batch_test {
namespace {

using kafka::consumed_record;
using kafka::kafka_error;
using kafka::refused_record;
using kafka::topic_partition;
using kafka::detail::made_batch;
using texts = std::vector<std::string>;
using offsets = std::map<topic_partition, std::int64_t>;

class KafkaMadeBatch : public testing::Test {
protected:
    KafkaMadeBatch() {
        for (const std::int64_t offset : {7, 8, 9}) {
            for (const int partition : {0, 1}) {
                consumed_record& one = came_.emplace_back();
                one.from = topic_partition("from", partition);
                one.offset = offset;
                one.value = std::to_string(partition) + "/" + std::to_string(offset);
            }
        }
    }

    /// Two records of each.
    void make_all(made_batch& into) const {
        for (const consumed_record& each : came_) {
            std::vector<kafka::record> results;
            results.emplace_back("to", std::nullopt, *each.value + "a");
            results.emplace_back("to", std::nullopt, *each.value + "b");
            into.add(each, std::move(results));
        }
    }
    static texts values(const made_batch& of) {
        texts all;
        for (const kafka::record& each : of.records())
            all.push_back(each.topic + ":" + *each.value);
        return all;
    }
    static refused_record
    refusal(std::size_t index, int code = RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE) {
        refused_record result;
        result.index = index;
        result.code = kafka_error(code);
        result.text = "too large";
        return result;
    }

    std::vector<consumed_record> came_;
};

TEST_F(KafkaMadeBatch, IsAllThatWasMadeInItsOrder) {
    made_batch batch("");
    make_all(batch);
    EXPECT_EQ(
        values(batch),
        (texts{
            "to:0/7a",
            "to:0/7b",
            "to:1/7a",
            "to:1/7b",
            "to:0/8a",
            "to:0/8b",
            "to:1/8a",
            "to:1/8b",
            "to:0/9a",
            "to:0/9b",
            "to:1/9a",
            "to:1/9b"})
    );
    EXPECT_EQ(batch.dealt_with(), (offsets{{{"from", 0}, 9}, {{"from", 1}, 9}}));
    EXPECT_TRUE(batch.stops().empty());
}

TEST_F(KafkaMadeBatch, WithoutDeadLettersAPartitionStopsWhereOneIsRefused) {
    made_batch batch("");
    make_all(batch);
    EXPECT_TRUE(batch.refuse({refusal(5)}));
    EXPECT_EQ(
        values(batch),
        (texts{
            "to:0/7a", "to:0/7b", "to:1/7a", "to:1/7b", "to:1/8a", "to:1/8b", "to:1/9a", "to:1/9b"})
    );
    EXPECT_EQ(batch.dealt_with(), (offsets{{{"from", 0}, 7}, {{"from", 1}, 9}}));
    ASSERT_EQ(batch.stops().size(), 1u);
    const made_batch::failure& stop = batch.stops().begin()->second;
    EXPECT_EQ(stop.of->offset, 8);
    EXPECT_EQ(stop.code, kafka::condition::too_large);
    EXPECT_TRUE(batch.refuse({refusal(0)})) << "an earlier one";
    EXPECT_EQ(batch.stops().begin()->second.of->offset, 7);
    EXPECT_EQ(batch.dealt_with(), (offsets{{{"from", 1}, 9}}));
    EXPECT_TRUE(batch.stopped_before(came_[2])) << "what comes later of that partition";
    EXPECT_FALSE(batch.stopped_before(came_[1]));
}

TEST_F(KafkaMadeBatch, ADeadLetterThatIsRefusedStopsThePartition) {
    made_batch batch("dead");
    make_all(batch);
    EXPECT_TRUE(batch.refuse({refusal(4), refusal(5)}));
    EXPECT_EQ(
        values(batch),
        (texts{
            "to:0/7a",
            "to:0/7b",
            "to:1/7a",
            "to:1/7b",
            "dead:0/8",
            "to:1/8a",
            "to:1/8b",
            "to:0/9a",
            "to:0/9b",
            "to:1/9a",
            "to:1/9b"})
    );
    ASSERT_EQ(batch.dead_letters().size(), 1u);
    EXPECT_EQ(batch.dead_letters()[0].of->offset, 8);
    EXPECT_TRUE(batch.stops().empty());
    EXPECT_TRUE(batch.refuse({refusal(4)}));
    EXPECT_TRUE(batch.dead_letters().empty());
    EXPECT_EQ(batch.dealt_with(), (offsets{{{"from", 0}, 7}, {{"from", 1}, 9}}));
    EXPECT_EQ(batch.stops().size(), 1u);
}

TEST_F(KafkaMadeBatch, ATopicThatCannotBeWrittenToIsNobodysFault) {
    made_batch batch("dead");
    make_all(batch);
    const texts before = values(batch);
    EXPECT_FALSE(batch.refuse({refusal(1, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)}));
    EXPECT_FALSE(batch.refuse({refusal(1, RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC)}));
    EXPECT_FALSE(batch.refuse({refusal(12)})) << "there is none with that number";
    EXPECT_EQ(values(batch), before);
}

TEST_F(KafkaMadeBatch, WhatTheHandlerGaveUpOnBecomesADeadLetterOrAStop) {
    for (const char* dead : {"dead", ""}) {
        made_batch batch(dead);
        batch.add(came_[0], {});
        batch.give_up(came_[2], kafka_error(RD_KAFKA_RESP_ERR__FAIL), "no");
        EXPECT_EQ(batch.records().size(), *dead ? 1u : 0u);
        EXPECT_EQ(batch.dealt_with(), (offsets{{{"from", 0}, *dead ? 8 : 7}}));
        EXPECT_EQ(batch.dead_letters().size(), *dead ? 1u : 0u);
        EXPECT_EQ(batch.stops().size(), *dead ? 0u : 1u);
        EXPECT_EQ(batch.stopped_before(came_[4]), *dead == 0);
    }
}

}  // namespace
}  // namespace mortise::test::made_batch_test
