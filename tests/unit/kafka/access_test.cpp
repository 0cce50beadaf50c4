// SPDX-License-Identifier: BSL-1.0
// A broker that asks for a login and lets nobody do what was not allowed.
#include "mortise/kafka/cluster.hpp"
#include "support/eventually.hpp"
#include "support/kafka_reader.hpp"
#include "support/machine_delay.hpp"
#include "unit/kafka/guarded_broker.hpp"
#include "unit/kafka/kafka_user.hpp"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <librdkafka/rdkafka.h>

#include <chrono>

namespace mortise::test::kafka_access_test {
namespace {

using namespace std::chrono_literals;
using kind = kafka::transaction_outcome::kind;
using kafka::record;

class KafkaAccess : public testing::Test {
protected:
    static kafka::kafka_config config(const std::string& password = alices_password) {
        kafka::kafka_config config(guarded_broker().address());
        for (const auto& [name, value] : login("alice", password))
            config.settings[name] = value;
        return config;
    }

    /// Adds a rule. A resource with any rule denies her all else.
    static void rule(
        rd_kafka_ResourceType_t type,
        const std::string& name,
        rd_kafka_AclOperation_t operation,
        rd_kafka_AclPermissionType_t permission
    ) {
        const raw_kafka handle =
            open_raw_kafka(RD_KAFKA_PRODUCER, guarded_broker().address(), login("admin", "admin"));
        char text[256];
        rd_kafka_AclBinding_t* wanted = ::rd_kafka_AclBinding_new(
            type,
            name.c_str(),
            RD_KAFKA_RESOURCE_PATTERN_LITERAL,
            "User:alice",
            "*",
            operation,
            permission,
            text,
            sizeof text
        );
        ASSERT_NE(wanted, nullptr) << text;
        const raw_kafka_owned<rd_kafka_queue_t> queue(::rd_kafka_queue_new(handle.get()));
        ::rd_kafka_CreateAcls(handle.get(), &wanted, 1, nullptr, queue.get());
        const raw_kafka_owned<rd_kafka_event_t> event(::rd_kafka_queue_poll(queue.get(), 10'000));
        ::rd_kafka_AclBinding_destroy(wanted);
        ASSERT_TRUE(event);
        check_raw_kafka(::rd_kafka_event_error(event.get()));
    }
    static void allow_topic(const std::string& name, rd_kafka_AclOperation_t operation) {
        rule(RD_KAFKA_RESOURCE_TOPIC, name, operation, RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW);
    }

    static std::unique_ptr<kafka_user> make_ready() {
        auto user = std::make_unique<kafka_user>(config(), fresh_name("id"));
        const error_code ec = user->init();
        EXPECT_FALSE(ec) << ec.message();
        return user;
    }

    static std::string make_topic() {
        std::string name = fresh_name("topic");
        guarded_broker().create_topic(name);
        return name;
    }
};

TEST_F(KafkaAccess, AWrongPasswordIsSaidAtOnceAndNeverShown) {
    kafka_listener listener;
    auto wrong = config("alice-guesses");
    wrong.watch = &listener;
    kafka_user producer(wrong, "id");
    const machine_delay delay;
    const clock::time_point begin = clock::now();
    EXPECT_EQ(producer.init(), kafka::condition::not_authorized);
    EXPECT_LT(clock::now() - begin, 10s + delay.so_far());
    EXPECT_NE(listener.all(), "");
    EXPECT_EQ(listener.all().find("alice-guesses"), std::string::npos);
    const std::string text = producer.producer().trouble();
    EXPECT_NE(text.find(guarded_broker().address()), std::string::npos) << text;
    EXPECT_NE(text.find("uthentication"), std::string::npos) << text;
    EXPECT_EQ(text.find("alice-guesses"), std::string::npos) << text;

    asio::io_context context;
    kafka::cluster cluster(context.get_executor(), wrong);
    error_code ended;
    cluster.async_id([&](error_code ec, const std::string&) { ended = ec; });
    context.run();
    EXPECT_EQ(ended, kafka::condition::not_authorized) << ended.message();
    EXPECT_NE(cluster.trouble().find("uthentication"), std::string::npos) << cluster.trouble();
}

TEST_F(KafkaAccess, RecordsForTopicsThatMayNotBeWrittenToAreNamed) {
    const std::string open = make_topic();
    const std::string hidden = make_topic();
    const std::string visible = make_topic();
    allow_topic(hidden, RD_KAFKA_ACL_OPERATION_ALTER_CONFIGS);
    allow_topic(visible, RD_KAFKA_ACL_OPERATION_DESCRIBE);
    auto producer = make_ready();

    // One that cannot be seen is found before anything is sent.
    kafka::transaction_batch batch = batch_of(open, {"a"});
    batch.records.emplace_back(hidden, std::nullopt, "b");
    auto outcome = producer->run(batch);
    ASSERT_EQ(outcome.type, kind::refused) << outcome.code.message();
    ASSERT_EQ(outcome.refused.size(), 1u);
    EXPECT_EQ(outcome.refused[0].index, 1u);
    EXPECT_EQ(outcome.refused[0].code, kafka::condition::not_authorized);

    // One that can be seen is found by trying. It is known at once if all others were written to,
    // or if the abort works; else a second producer has to be wary.
    batch.records[1].topic = visible;
    outcome = producer->run(batch);
    if (outcome.type == kind::lost) {
        EXPECT_EQ(outcome.code, kafka::condition::not_authorized) << outcome.text;
        producer = make_ready();
        batch.wary = true;
        outcome = producer->run(batch);
    }
    ASSERT_EQ(outcome.type, kind::refused) << to_string(outcome.type) << outcome.text;
    ASSERT_EQ(outcome.refused.size(), 1u);
    EXPECT_EQ(outcome.refused[0].index, 1u);
    EXPECT_EQ(outcome.refused[0].code, kafka::condition::not_authorized);

    if (outcome.renew)
        producer = make_ready();
    const auto good = batch_of(open, {"a"});
    EXPECT_EQ(producer->run(good).type, kind::committed);

    outcome = producer->run(batch_of(visible, {"a", "b"}));
    ASSERT_EQ(outcome.type, kind::refused) << to_string(outcome.type) << outcome.text;
    EXPECT_EQ(outcome.refused.size(), 2u);
    EXPECT_EQ(producer->run(good).type, outcome.renew ? kind::lost : kind::committed);
}

TEST_F(KafkaAccess, AWaryProducerTriesTopicsOneByOne) {
    const std::string open = make_topic();
    const std::string visible = make_topic();
    allow_topic(visible, RD_KAFKA_ACL_OPERATION_DESCRIBE);
    auto producer = make_ready();
    kafka::transaction_batch batch = batch_of(open, {"a"});
    batch.wary = true;
    batch.records.emplace_back(visible, std::nullopt, "b");
    const auto outcome = producer->run(batch);
    ASSERT_EQ(outcome.type, kind::refused) << to_string(outcome.type) << outcome.text;
    ASSERT_EQ(outcome.refused.size(), 1u);
    EXPECT_EQ(outcome.refused[0].index, 1u);
    if (outcome.renew)
        producer = make_ready();
    batch.records.pop_back();
    EXPECT_EQ(producer->run(batch).type, kind::committed);
    const kafka_reader reader(guarded_broker().address(), login("admin", "admin"));
    EXPECT_EQ(reader.settled_values(open), std::vector<std::string>{"a"});
}

TEST_F(KafkaAccess, ATopicThatMayNotBeMadeOrReadIsSaid) {
    const std::string written = make_topic();
    const std::string missing = fresh_name("topic");
    ASSERT_EQ(make_ready()->run(batch_of(written, {"a"})).type, kind::committed);
    allow_topic(written, RD_KAFKA_ACL_OPERATION_WRITE);
    allow_topic(missing, RD_KAFKA_ACL_OPERATION_DESCRIBE);
    rule(
        RD_KAFKA_RESOURCE_BROKER,
        "kafka-cluster",
        RD_KAFKA_ACL_OPERATION_CREATE,
        RD_KAFKA_ACL_PERMISSION_TYPE_DENY
    );
    asio::io_context context;
    kafka::cluster cluster(context.get_executor(), config());
    error_code created;
    error_code read;
    error_code known;
    cluster.async_ensure_topic({missing, 1}, [&](error_code ec, bool) { created = ec; });
    cluster.async_last_record(written, 0, "key", 0, [&](error_code ec, const auto&) { read = ec; });
    // It may not look at the topic's settings: the visible facts are right.
    cluster.async_ensure_topic({written, 1}, [&](error_code ec, bool) { known = ec; });
    context.run();
    EXPECT_EQ(created, kafka::condition::not_authorized) << created.message();
    EXPECT_EQ(read, kafka::condition::not_authorized) << read.message();
    EXPECT_FALSE(known) << known.message();
}

}  // namespace
}  // namespace mortise::test::kafka_access_test
