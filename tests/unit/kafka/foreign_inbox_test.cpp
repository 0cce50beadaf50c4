// SPDX-License-Identifier: BSL-1.0
// Two databases in one consumer group: neither knows what the other has done.
#include "consumer/group_offset.hpp"
#include "support/eventually.hpp"
#include "support/kafka_broker.hpp"
#include "support/scratch_folder.hpp"
#include "unit/kafka/inbox_party.hpp"
#include "unit/kafka/mock_cluster.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace mortise::test::kafka_foreign_inbox_test {
namespace {

using kind = kafka::consumer_event::kind;

/// Returns the offset that the group has stored for partition 0.
std::int64_t
stored_offset_of(const std::string& address, const std::string& topic, const std::string& group) {
    const raw_kafka by = open_raw_kafka(RD_KAFKA_CONSUMER, address, {{"group.id", group}});
    rd_kafka_topic_partition_list_t* const list = ::rd_kafka_topic_partition_list_new(1);
    ::rd_kafka_topic_partition_list_add(list, topic.c_str(), 0);
    check_raw_kafka(::rd_kafka_committed(by.get(), list, 10'000));
    const std::int64_t found = list->elems[0].offset;
    ::rd_kafka_topic_partition_list_destroy(list);
    return found;
}

class KafkaForeignInbox : public testing::Test {
protected:
    static constexpr int partitions = 3;

    KafkaForeignInbox() { shared_kafka().create_topic(topic_, partitions); }

    kafka::inbox_consumer_config config() const {
        kafka::inbox_consumer_config config(
            kafka::kafka_config(shared_kafka().address()), group_, {topic_}
        );
        config.cluster.settings = {
            {"reconnect.backoff.max.ms", "100"},
            {"heartbeat.interval.ms", "100"},
            {"fetch.wait.max.ms", "50"}};
        config.tell_group_after = std::chrono::milliseconds(50);
        return config;
    }
    /// One record for each partition.
    void produce() {
        const raw_kafka by = open_raw_producer(shared_kafka().address());
        for (int part = 0; part < partitions; ++part)
            raw_kafka_produce(by, topic_, part, std::to_string(part), std::to_string(produced_));
        produced_ += partitions;
    }
    bool has_all(inbox_party& by) const {
        return eventually([&] { return by.count() == produced_; });
    }
    std::size_t all_refused(const inbox_party& by) const {
        return eventually([&] { return by.events(kind::refused).size() == partitions; });
    }
    std::int64_t stored_offset() const {
        return stored_offset_of(shared_kafka().address(), topic_, group_);
    }

    const scratch_folder folder_;
    const std::string topic_ = fresh_name("topic");
    const std::string group_ = fresh_name("group");
    std::size_t produced_ = 0;
};

TEST(KafkaOffsetNote, SaysWhatWasDealtWithAndByWhom) {
    kafka::detail::offset_note note;
    EXPECT_EQ(note.text(), "-1");
    note.dealt_with = 42;
    EXPECT_EQ(note.text(), "42");
    note.owner = "0123/my inbox";
    const auto read = kafka::detail::offset_note::parse(note.text());
    EXPECT_EQ(read.dealt_with, 42);
    EXPECT_EQ(read.owner, note.owner);
    // As versions before wrote it, and as somebody else may have.
    EXPECT_EQ(kafka::detail::offset_note::parse("7").dealt_with, 7);
    EXPECT_EQ(kafka::detail::offset_note::parse("7").owner, "");
    for (const char* strange : {"", " ", "x", "7x", "7x owner", "99999999999999999999"}) {
        EXPECT_EQ(kafka::detail::offset_note::parse(strange).dealt_with, -1) << strange;
        EXPECT_EQ(kafka::detail::offset_note::parse(strange).owner, "") << strange;
    }
}

TEST_F(KafkaForeignInbox, DoesNothingThatTheFirstHasDone) {
    produce();
    inbox_party first(folder_.path() / "first.db");
    first.start(config());
    EXPECT_TRUE(has_all(first)) << first.event_texts();
    first.stop();
    inbox_party second(folder_.path() / "second.db");
    second.start(config());
    EXPECT_TRUE(all_refused(second)) << second.event_texts();
    const auto refused = second.events(kind::refused).at(0);
    EXPECT_EQ(refused.code, kafka::errc::foreign_inbox);
    EXPECT_NE(refused.code.message().find("a group of its own"), std::string::npos);
    EXPECT_NE(refused.text.find("by the inbox "), std::string::npos) << refused.text;
    produce();
    second.stop();
    EXPECT_EQ(second.count(), 0u);
    first.start(config());
    EXPECT_TRUE(has_all(first)) << first.event_texts();
    first.stop();
    EXPECT_EQ(first.stats().repeated, 0u);
    // Somebody may want it so.
    auto adopting = config();
    adopting.adopt_group = true;
    second.start(adopting);
    EXPECT_TRUE(has_all(second)) << second.event_texts();
    second.stop();
    first.start(config());
    EXPECT_TRUE(all_refused(first)) << first.event_texts();
}

TEST_F(KafkaForeignInbox, BesideTheFirstLeavesEachMessageToIt) {
    inbox_party first(folder_.path() / "first.db");
    first.start(config());
    EXPECT_TRUE(eventually([&] { return first.assigned() == partitions; })) << first.event_texts();
    produce();
    EXPECT_TRUE(has_all(first)) << first.event_texts();
    inbox_party second(folder_.path() / "second.db");
    second.start(config());  // it is given some of the partitions
    EXPECT_TRUE(eventually([&] { return !second.events(kind::refused).empty(); }))
        << second.event_texts();
    produce();
    second.stop();
    EXPECT_TRUE(has_all(first)) << first.event_texts();
    EXPECT_EQ(second.count(), 0u) << second.event_texts();
    EXPECT_EQ(first.stats().repeated, 0u);
}

// Before anything is dealt with: so it is known also if the first dies at once.
TEST_F(KafkaForeignInbox, IsKnownAsTheGroupIsToldAtOnceWhoseItIs) {
    auto rarely = config();
    rarely.tell_group_after = std::chrono::hours(24);
    inbox_party first(folder_.path() / "first.db");
    first.start(rarely);
    EXPECT_TRUE(eventually([&] { return stored_offset() == 0; })) << stored_offset();
    first.destroy();
    inbox_party second(folder_.path() / "second.db");
    second.start(config());
    EXPECT_TRUE(all_refused(second)) << second.event_texts();
}

// Else the first may die after an effect of which the second database knows nothing.
TEST(KafkaForeignInboxAlone, HandlesNothingBeforeTheGroupHasAnsweredWhoseItIs) {
    const scratch_folder folder;
    mock_cluster broker;
    const auto cluster = broker.config();
    raw_kafka_produce(
        open_raw_producer(cluster.bootstrap_servers), "topic", 0, "key", "the first one"
    );
    std::atomic<std::int64_t> offset{-2};
    inbox_party party(
        folder.path() / "first.db",
        [&](db::connection& on, const outbox::received& message) {
            offset = stored_offset_of(cluster.bootstrap_servers, "topic", "group");
            return write_down(on, message);
        }
    );
    broker.answer(
        mock_cluster::request::offset_commit, RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, 3
    );
    kafka::inbox_consumer_config config(cluster, "group", {"topic"});
    config.tell_group_after = std::chrono::hours(24);
    party.start(config);
    EXPECT_TRUE(eventually([&] { return party.count() == 1; })) << party.event_texts();
    EXPECT_EQ(offset, 0);
    const auto failed = party.events(kind::failed);
    ASSERT_GE(failed.size(), 3u) << party.event_texts();
    EXPECT_EQ(failed[0].code, kafka::condition::not_authorized);
    EXPECT_NE(failed[0].text.find("whose its partitions are"), std::string::npos);
}

}  // namespace
}  // namespace mortise::test::kafka_foreign_inbox_test
