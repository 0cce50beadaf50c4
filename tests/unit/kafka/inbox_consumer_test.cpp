// SPDX-License-Identifier: BSL-1.0
// From topics of Kafka into an inbox: each message has its effect once, and those of a key in
// order, whoever starts, stops, dies or fails.
#include "mortise/kafka/kafka_sink.hpp"
#include "mortise/outbox/inbox_view.hpp"
#include "support/kafka_broker.hpp"
#include "support/kafka_reader.hpp"
#include "support/machine_delay.hpp"
#include "unit/kafka/inbox_party.hpp"
#include "unit/outbox/outbox_world.hpp"

#include <sqlite3.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test::kafka_inbox_consumer_test {
namespace {

using namespace std::chrono_literals;
using kind = kafka::consumer_event::kind;
using outbox::message;
using texts = std::vector<std::string>;

class KafkaInbox : public outbox_world {
protected:
    static constexpr int partitions = 3;

    explicit KafkaInbox(kafka_broker& broker) : broker_(broker) {
        broker_.create_topic(topic_, partitions);
    }
    KafkaInbox() : KafkaInbox(shared_kafka()) {}

    kafka::kafka_config cluster_config() const {
        kafka::kafka_config config(broker_.address());
        config.settings = {
            {"linger.ms", "0"},
            {"reconnect.backoff.ms", "20"},
            {"reconnect.backoff.max.ms", "100"},
            {"heartbeat.interval.ms", "100"},
            {"fetch.wait.max.ms", "50"}};
        return config;
    }
    outbox::relay_config to_kafka() { return to_kafka(progress_); }
    outbox::relay_config to_kafka(const std::string& progress) {
        kafka::kafka_sink_config sink(cluster_config());
        sink.cluster.settings.erase("heartbeat.interval.ms");
        sink.progress_topic = progress;
        sink.progress_partitions = 1;
        outbox::relay_config settings = config();
        settings.sink = kafka::make_kafka_sink(sink);
        settings.retry_max = 200ms;
        return settings;
    }
    kafka::inbox_consumer_config from_kafka() const {
        kafka::inbox_consumer_config config(cluster_config(), group_, {topic_});
        config.batch_rows = 20;
        config.tell_group_after = 50ms;
        return config;
    }
    std::filesystem::path there() const { return folder_.path() / "ship.db"; }

    /// A transaction with one message for each of some keys.
    void append_round(int keys = 7) {
        ++rounds_;
        run([this, keys](db::connection& on) {
            for (int key = 0; key < keys; ++key)
                outbox::append(on, message(topic_, std::to_string(key), std::to_string(rounds_)));
        });
        appended_ += static_cast<std::size_t>(keys);
    }
    void expect_each_once(inbox_party& by, int keys = 7) {
        EXPECT_TRUE(eventually([&] { return by.count() >= appended_; }, 60s)) << by.event_texts();
        texts wanted;
        for (int round = 1; round <= rounds_; ++round)
            wanted.push_back(std::to_string(round));
        const auto written = by.written();
        EXPECT_EQ(written.size(), static_cast<std::size_t>(keys));
        for (const auto& [key, lines] : written)
            EXPECT_EQ(lines, wanted) << key << '\n' << by.event_texts();
    }
    /// Records of partition 0, without a transaction.
    void produce(int first, int last) const {
        const raw_kafka by = open_raw_producer(broker_.address());
        for (int i = first; i <= last; ++i)
            raw_kafka_produce(by, topic_, 0, "k", std::to_string(i));
    }
    static texts numbers(int first, int last) {
        texts result;
        for (int i = first; i <= last; ++i)
            result.push_back(std::to_string(i));
        return result;
    }
    void remove_records_before(std::int64_t offset) const {
        const raw_kafka by = open_raw_producer(broker_.address());
        rd_kafka_topic_partition_list_t* const list = ::rd_kafka_topic_partition_list_new(1);
        ::rd_kafka_topic_partition_list_add(list, topic_.c_str(), 0)->offset = offset;
        rd_kafka_DeleteRecords_t* wanted = ::rd_kafka_DeleteRecords_new(list);
        ::rd_kafka_topic_partition_list_destroy(list);
        const raw_kafka_owned<rd_kafka_queue_t> queue(::rd_kafka_queue_new(by.get()));
        ::rd_kafka_DeleteRecords(by.get(), &wanted, 1, nullptr, queue.get());
        ::rd_kafka_DeleteRecords_destroy(wanted);
        const raw_kafka_owned<rd_kafka_event_t> event(::rd_kafka_queue_poll(queue.get(), 15'000));
        ASSERT_TRUE(event);
        ASSERT_EQ(::rd_kafka_event_error(event.get()), RD_KAFKA_RESP_ERR_NO_ERROR);
    }
    /// Returns the offset that the group has stored for partition 0.
    std::int64_t stored_offset() const {
        const raw_kafka by =
            open_raw_kafka(RD_KAFKA_CONSUMER, broker_.address(), {{"group.id", group_}});
        rd_kafka_topic_partition_list_t* const list = ::rd_kafka_topic_partition_list_new(1);
        ::rd_kafka_topic_partition_list_add(list, topic_.c_str(), 0);
        check_raw_kafka(::rd_kafka_committed(by.get(), list, 10'000));
        const std::int64_t found = list->elems[0].offset;
        ::rd_kafka_topic_partition_list_destroy(list);
        return found;
    }

    kafka_broker& broker_;
    const std::string topic_ = fresh_name("topic");
    const std::string progress_ = fresh_name("progress");
    const std::string group_ = fresh_name("group");
    int rounds_ = 0;
    std::size_t appended_ = 0;
};

TEST_F(KafkaInbox, EveryMessageHasItsEffectOnceAndThoseOfAKeyInOrder) {
    start(to_kafka());
    for (int i = 0; i < 10; ++i)
        append_round();
    inbox_party there_now(there());
    there_now.start(from_kafka());
    for (int i = 0; i < 10; ++i)
        append_round();
    expect_each_once(there_now);
    EXPECT_EQ(there_now.events(kind::assigned).size(), 3u) << there_now.event_texts();
    EXPECT_TRUE(there_now.events(kind::failed).empty()) << there_now.event_texts();
    // People see no lag.
    const kafka_reader reader(broker_.address());
    EXPECT_TRUE(eventually([&] { return stored_offset() == reader.end_of(topic_, 0); }))
        << stored_offset();
    there_now.stop();
    EXPECT_EQ(there_now.events(kind::revoked).size(), 3u) << there_now.event_texts();
    // It goes on where the inbox is, also as a member of another group.
    append_round();
    auto otherwise = from_kafka();
    otherwise.group = fresh_name("group");
    there_now.start(otherwise);
    append_round();
    expect_each_once(there_now);
    // Counted when the commit has been heard of; its effect is there before.
    EXPECT_TRUE(eventually([&] { return there_now.stats().handled == appended_; }))
        << there_now.stats().handled;
    EXPECT_EQ(there_now.stats().repeated, 0u);
}

TEST_F(KafkaInbox, TellsWhatTheOutboxSaidAndNamesWhatHasNoName) {
    std::vector<outbox::received> deliveries;
    inbox_party by(there(), [&](db::connection& on, const outbox::received& received) {
        deliveries.push_back(received);
        return write_down(on, received);
    });
    start(to_kafka());
    message sent(topic_, "k", "one");
    sent.id = "my-id";
    sent.headers.emplace_back("from", "test");
    append(sent);
    drain();
    const raw_kafka stranger = open_raw_producer(broker_.address());
    raw_kafka_produce(stranger, topic_, 2, "foreign", "two");
    by.start(from_kafka());
    ASSERT_TRUE(eventually([&] { return by.count() == 2; })) << by.event_texts();
    by.stop();
    if (deliveries[0].message.key == "foreign")
        std::swap(deliveries[0], deliveries[1]);
    EXPECT_EQ(deliveries[0].message.id, "my-id");
    EXPECT_EQ(deliveries[0].message.topic, topic_);
    EXPECT_EQ(deliveries[0].message.payload, "one");
    ASSERT_EQ(deliveries[0].message.headers.size(), 1u);
    EXPECT_EQ(deliveries[0].message.headers[0].value, "test");
    EXPECT_EQ(deliveries[1].message.id, topic_ + "/2/" + std::to_string(deliveries[1].offset));
    EXPECT_EQ(deliveries[1].source, broker_.cluster_id() + "/" + topic_ + "/2");
    EXPECT_TRUE(deliveries[1].message.headers.empty());
    EXPECT_FALSE(deliveries[0].id_is_place);
    EXPECT_TRUE(deliveries[1].id_is_place);
}

TEST_F(KafkaInbox, WhatIsPublishedAgainHasItsEffectOnceWhereIdsAreRemembered) {
    inbox_party by(there());
    outbox::inbox_config how;
    how.name = "both";
    how.by = outbox::inbox_config::kind::offsets_and_ids;
    how.handler = &write_down;
    const auto consume = [&] {
        const auto to = std::make_shared<outbox::inbox>(site_.executor(), by.session(), how);
        kafka::inbox_consumer consumer(site_.executor(), to, from_kafka());
        expect_each_once(by);
        const auto repeated = [&] { return to->stats().repeated; };
        EXPECT_TRUE(eventually([&] { return to->stats().handled + repeated() >= appended_; }));
        wait_for(consumer.async_stop(asio::use_future));
        wait_for(to->async_stop(asio::use_future));
        return repeated();
    };
    auto first = to_kafka();
    first.keep = 1h;
    start(first);
    for (int i = 0; i < 3; ++i)
        append_round();
    drain();
    EXPECT_EQ(consume(), 0u);
    const std::size_t before = appended_;
    stop();
    start(to_kafka(fresh_name("progress")));
    append_round();
    EXPECT_TRUE(eventually([&] {
        run([](db::connection& on) {
            for (const auto& each : outbox::describe(on).shards) {
                if (each.refused)
                    outbox::rebase(on, each.shard, outbox::position::beginning());
            }
        });
        try {
            drain();
            return true;
        } catch (const boost::system::system_error&) {
            return false;  // one is refused
        }
    }));
    EXPECT_EQ(consume(), before);
}

TEST_F(KafkaInbox, OfTwoInAGroupEachHasItsShareAndTheEffectsStayOnce) {
    start(to_kafka());
    inbox_party one(there());
    inbox_party two(there());
    one.start(from_kafka());
    append_round();
    ASSERT_TRUE(eventually([&] { return one.assigned() == 3; })) << one.event_texts();
    two.start(from_kafka());
    const auto shared = [&] { return two.assigned() > 0 && one.assigned() + two.assigned() == 3; };
    EXPECT_TRUE(eventually([&] {
        append_round();
        return shared();
    })) << one.event_texts()
        << two.event_texts();
    for (int i = 0; i < 10; ++i)
        append_round();
    one.stop();
    append_round();
    EXPECT_TRUE(eventually([&] { return two.assigned() == 3; })) << two.event_texts();
    append_round();
    one.start(from_kafka());
    append_round();
    EXPECT_TRUE(eventually(shared)) << one.event_texts() << two.event_texts();
    append_round();
    two.destroy();
    append_round();
    expect_each_once(one);
}

TEST_F(KafkaInbox, OneOfAGroupMayBeCooperative) {
    start(to_kafka());
    auto how = from_kafka();
    how.cluster.settings["partition.assignment.strategy"] = "cooperative-sticky";
    how.tell_group_after = 10s;  // in the middle of a rebalance it costs librdkafka all of them
    inbox_party one(there());
    inbox_party two(there());
    one.start(how);
    append_round();
    ASSERT_TRUE(eventually([&] { return one.assigned() == 3; })) << one.event_texts();
    two.start(how);
    EXPECT_TRUE(eventually([&] {
        append_round();
        return two.assigned() > 0 && one.assigned() + two.assigned() == 3;
    })) << one.event_texts()
        << two.event_texts();
    EXPECT_LT(one.events(kind::revoked).size(), 3u) << one.event_texts();
    append_round();
    one.stop();
    append_round();
    EXPECT_TRUE(eventually([&] { return two.assigned() == 3; })) << two.event_texts();
    expect_each_once(two);
}

TEST_F(KafkaInbox, ATopicThatWasMadeAnewIsRefusedUntilAnOperatorSaysWhereItGoesOn) {
    produce(1, 5);
    inbox_party by(there());
    by.start(from_kafka());
    EXPECT_TRUE(eventually([&] { return by.count() == 5; })) << by.event_texts();
    by.stop();
    broker_.delete_topic(topic_);
    EXPECT_TRUE(eventually([&] {
        try {
            broker_.create_topic(topic_, partitions);
            return true;
        } catch (const std::runtime_error&) {
            return false;  // its name is still taken
        }
    }));
    produce(11, 12);
    by.start(from_kafka());
    EXPECT_TRUE(eventually([&] { return by.assigned() == 3; })) << by.event_texts();
    const auto refused = by.events(kind::refused);
    ASSERT_EQ(refused.size(), 1u) << by.event_texts();
    EXPECT_EQ(refused[0].at, kafka::topic_partition(topic_, 0));
    EXPECT_EQ(refused[0].code, kafka::errc::offset_gone);
    EXPECT_NE(refused[0].text.find("offset 5"), std::string::npos) << refused[0].text;
    EXPECT_NE(refused[0].text.find("0 up to 2"), std::string::npos) << refused[0].text;
    by.stop();
    const std::string source = broker_.cluster_id() + "/" + topic_ + "/0";
    by.run([&](db::connection& on) { outbox::move_inbox(on, "inbox", source, 0); });
    by.start(from_kafka());
    EXPECT_TRUE(eventually([&] { return by.count() == 7; })) << by.event_texts();
    EXPECT_EQ(by.written().at("k"), (texts{"1", "2", "3", "4", "5", "11", "12"}));
    EXPECT_EQ(by.events(kind::refused).size(), 1u) << by.event_texts();
}

TEST_F(KafkaInbox, WhatRetentionHasRemovedIsMissedUnlessItMayBeSkipped) {
    produce(1, 5);
    inbox_party by(there());
    by.start(from_kafka());
    EXPECT_TRUE(eventually([&] { return by.count() == 5; })) << by.event_texts();
    by.stop();
    produce(6, 9);
    remove_records_before(7);  // the sixth and the seventh record
    by.start(from_kafka());
    EXPECT_TRUE(eventually([&] { return by.assigned() == 3; })) << by.event_texts();
    ASSERT_EQ(by.events(kind::refused).size(), 1u) << by.event_texts();
    EXPECT_EQ(by.events(kind::refused)[0].code, kafka::errc::offset_removed);
    by.stop();
    EXPECT_EQ(by.count(), 5u);
    auto loosely = from_kafka();
    loosely.skip_removed = true;
    by.start(loosely);
    EXPECT_TRUE(eventually([&] { return by.count() == 7; })) << by.event_texts();
    ASSERT_EQ(by.events(kind::skipped).size(), 1u) << by.event_texts();
    EXPECT_EQ(by.events(kind::skipped)[0].offset, 7);
    EXPECT_EQ(by.written().at("k"), (texts{"1", "2", "3", "4", "5", "8", "9"}));
}

TEST_F(KafkaInbox, RetentionMayRemoveAllThatWasDealtWithAndTheEndsOfTransactions) {
    start(to_kafka());
    append_round();
    inbox_party by(there());
    by.start(from_kafka());
    expect_each_once(by);
    const kafka_reader reader(broker_.address());
    const std::int64_t end = reader.end_of(topic_, 0);
    ASSERT_TRUE(eventually([&] { return stored_offset() == end; })) << stored_offset();
    by.stop();
    remove_records_before(end);
    by.start(from_kafka());
    EXPECT_TRUE(eventually([&] { return by.assigned() == 3; })) << by.event_texts();
    EXPECT_TRUE(by.events(kind::refused).empty()) << by.event_texts();
    append_round();
    expect_each_once(by);
}

TEST_F(KafkaInbox, StartsWhereItIsToldWhenTheInboxHasNothing) {
    produce(1, 3);
    auto how = from_kafka();
    how.cluster.settings["auto.offset.reset"] = "error";
    inbox_party by(there());
    by.start(how);
    EXPECT_TRUE(eventually([&] { return by.events(kind::refused).size() == 3; }))
        << by.event_texts();
    by.stop();
    how.cluster.settings["auto.offset.reset"] = "latest";
    by.start(how);
    EXPECT_TRUE(eventually([&] { return by.assigned() == 3; })) << by.event_texts();
    // The end of the partition is asked for a moment later.
    EXPECT_TRUE(eventually([&] {
        produce(4, 4);
        return by.count() > 0;
    })) << by.event_texts();
    const auto lines = by.written().at("k");
    EXPECT_EQ(lines.front(), "4");
}

TEST_F(KafkaInbox, WhileTheDatabaseIsBusyItTriesAgainAndStaysInItsGroup) {
    inbox_party by(there());
    by.start(from_kafka());
    EXPECT_TRUE(eventually([&] { return by.assigned() == 3; })) << by.event_texts();
    sqlite3* other = nullptr;
    ASSERT_EQ(::sqlite3_open(there().c_str(), &other), SQLITE_OK);
    ASSERT_EQ(::sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
    produce(1, 100);  // more than it holds ready
    EXPECT_TRUE(eventually([&] { return by.events(kind::failed).size() >= 3; }))
        << by.event_texts();
    // The broker has session.timeout.ms of it; as many heartbeats have passed as it takes.
    eventually([] { return false; }, 1s);
    ASSERT_EQ(::sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr), SQLITE_OK);
    ::sqlite3_close(other);
    EXPECT_TRUE(eventually([&] { return by.count() == 100; })) << by.event_texts();
    EXPECT_EQ(by.written().at("k"), numbers(1, 100));
    EXPECT_EQ(by.stats().repeated, 0u);
    EXPECT_TRUE(by.events(kind::revoked).empty()) << by.event_texts();
}

TEST_F(KafkaInbox, LeavesItsGroupWhenTheInboxTakesNoMore) {
    inbox_party by(there());
    by.start(from_kafka());
    EXPECT_TRUE(eventually([&] { return by.assigned() == 3; })) << by.event_texts();
    by.stop_inbox();
    produce(1, 1);
    EXPECT_TRUE(eventually([&] { return by.events(kind::revoked).size() == 3; }))
        << by.event_texts();
    ASSERT_EQ(by.events(kind::ended).size(), 1u) << by.event_texts();
    EXPECT_EQ(by.events(kind::ended)[0].code, outbox::errc::stopped);
    by.stop();
    inbox_party next(there());
    next.start(from_kafka());
    EXPECT_TRUE(eventually([&] { return next.count() == 1; })) << next.event_texts();
}

TEST_F(KafkaInbox, AStopWaitsForTheTransactionThatRuns) {
    std::promise<void> entered;
    std::promise<void> leave;
    inbox_party by(there(), [&](db::connection& on, const outbox::received& received) {
        entered.set_value();
        leave.get_future().wait();
        return write_down(on, received);
    });
    by.start(from_kafka());
    produce(1, 1);
    ASSERT_EQ(entered.get_future().wait_for(20s), std::future_status::ready);
    auto stopped = std::async(std::launch::async, [&] { by.stop(); });
    EXPECT_EQ(stopped.wait_for(300ms), std::future_status::timeout);
    EXPECT_TRUE(by.events(kind::revoked).empty()) << by.event_texts();
    leave.set_value();
    stopped.get();
    EXPECT_EQ(by.events(kind::revoked).size(), 3u) << by.event_texts();
    EXPECT_EQ(by.count(), 1u);
    EXPECT_EQ(stored_offset(), 1);
}

// The consumer refuses an order; the shop hears of it by the same way and takes the sale back.
TEST_F(KafkaInbox, ACompensationComesBackAndTakesTheFirstMessageBack) {
    const std::string refusals = fresh_name("refusals");
    broker_.create_topic(refusals, 1);
    inbox_party ship(there(), [&](db::connection& on, const outbox::received& received) {
        write_down(on, received);
        if (std::stoi(*received.message.payload) % 3 == 0)
            return outbox::answer::refused(
                message(refusals, received.message.key, received.message.payload)
            );
        return outbox::answer::done();
    });
    const auto take_back = [](db::connection& on, const outbox::received& received) {
        EXPECT_NE(received.message.find_header("mortise-compensates"), nullptr);
        on.run(
            "UPDATE sale SET taken_back = taken_back + 1 WHERE n = ?1",
            std::stoll(*received.message.payload)
        );
        return outbox::answer::done();
    };
    inbox_party shop(database(), take_back);
    run([](db::connection& on) {
        on.run("CREATE TABLE sale(n INTEGER PRIMARY KEY, taken_back INTEGER DEFAULT 0)");
    });
    start(to_kafka());
    outbox_site shipping;
    auto from_there = to_kafka();
    from_there.database = there();
    shipping.relay.emplace(shipping.executor(), from_there);
    auto of_shop = from_kafka();
    of_shop.topics = {refusals};
    of_shop.group = fresh_name("group");
    ship.start(from_kafka());
    shop.start(of_shop);
    for (int n = 1; n <= 30; ++n)
        run([&](db::connection& on) {
            on.run("INSERT INTO sale(n) VALUES(?1)", n);
            outbox::append(on, message(topic_, std::to_string(n % 4), std::to_string(n)));
        });
    const auto count = [&](const char* sql) {
        return run([sql](db::connection& on) {
            auto row = on.query(sql);
            row.step();
            return row.integer(0);
        });
    };
    EXPECT_TRUE(eventually([&] {
        return count("SELECT sum(taken_back) FROM sale") == 10 && ship.count() == 20;
    })) << ship.event_texts()
        << shop.event_texts();
    EXPECT_EQ(count("SELECT count(*) FROM sale WHERE taken_back <> (n % 3 = 0)"), 0);
    EXPECT_EQ(ship.count(), 20u);
    wait_for(shipping.relay->async_stop(asio::use_future));
}

TEST_F(KafkaInbox, IsCheckedWhenItIsMade) {
    inbox_party by(there());
    const auto refusal = [&](const kafka::inbox_consumer_config& config) {
        try {
            by.start(config);
            by.destroy();
            return std::string();
        } catch (const error& e) {
            return e.value();
        }
    };
    EXPECT_EQ(refusal(from_kafka()), "");
    const std::vector<std::pair<std::string, std::function<void(kafka::inbox_consumer_config&)>>>
        table = {
            {"group", [](auto& how) { how.group.clear(); }},
            {"topics", [](auto& how) { how.topics.clear(); }},
            {"topics", [](auto& how) { how.topics = {"^all.*"}; }},
            {"topics", [](auto& how) { how.topics = {std::string(201, 'x')}; }},
            {"batch_rows", [](auto& how) { how.batch_rows = 0; }},
            {"batch_bytes", [](auto& how) { how.batch_bytes = 0; }},
            {"group.id", [](auto& how) { how.cluster.settings["group.id"] = "x"; }},
            {"isolation.level",
             [](auto& how) { how.cluster.settings["isolation.level"] = "read_uncommitted"; }},
            {"enable.auto.commit",
             [](auto& how) { how.cluster.settings["enable.auto.commit"] = "true"; }},
            {"auto.offset.reset",
             [](auto& how) { how.cluster.settings["auto.offset.reset"] = "none"; }},
        };
    for (const auto& [name, spoil] : table) {
        auto bad = from_kafka();
        spoil(bad);
        EXPECT_EQ(refusal(bad), name);
    }
    outbox::inbox_config by_ids;
    by_ids.by = outbox::inbox_config::kind::ids;
    by_ids.handler = &write_down;
    const auto wrong = std::make_shared<outbox::inbox>(site_.executor(), by.session(), by_ids);
    EXPECT_THROW(kafka::inbox_consumer(site_.executor(), wrong, from_kafka()), error);
    wait_for(wrong->async_stop(asio::use_future));
}

class KafkaInboxAlone : public KafkaInbox {
protected:
    KafkaInboxAlone() : KafkaInbox(killable_kafka()) {}
};

TEST_F(KafkaInboxAlone, ABrokerThatIsKilledAndStoppedLosesAndRepeatsNothing) {
    start(to_kafka());
    inbox_party by(there());
    by.start(from_kafka());
    for (int i = 0; i < 5; ++i)
        append_round();
    expect_each_once(by);
    broker_.kill();
    append_round();
    broker_.start();
    append_round();
    expect_each_once(by);
    broker_.suspend();
    append_round();
    eventually([] { return false; }, 2s);
    broker_.resume();
    append_round();
    expect_each_once(by);
    EXPECT_EQ(by.stats().repeated, 0u);
    EXPECT_TRUE(by.events(kind::refused).empty()) << by.event_texts();
    // It can leave a group that nobody answers for.
    broker_.suspend();
    const machine_delay delay;
    const clock::time_point begin = clock::now();
    by.stop();
    EXPECT_LT(clock::now() - begin, 10s + delay.so_far());
    broker_.resume();
}

}  // namespace
}  // namespace mortise::test::kafka_inbox_consumer_test
