// SPDX-License-Identifier: BSL-1.0
// From Kafka to Kafka: the result of each record is there once, whoever starts, stops or fails.
#include "mortise/kafka/processor.hpp"
#include "mortise/kafka/transactional_producer.hpp"
#include "support/eventually.hpp"
#include "support/kafka_broker.hpp"
#include "support/kafka_reader.hpp"
#include "support/scratch_folder.hpp"
#include "support/tls_material.hpp"
#include "unit/outbox/outbox_site.hpp"

#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test::kafka_processor_test {
namespace {

using namespace std::chrono_literals;
using kafka::consumed_record;
using kafka::record;
using kind = kafka::consumer_event::kind;
using texts = std::vector<std::string>;
using records = std::vector<record>;

/// A process that makes other records out of records.
class processing {
public:
    ~processing() { processor_.reset(); }

    void start(kafka::processor_config how) {
        how.observer = [this](const kafka::consumer_event& event) {
            const std::lock_guard hold(mutex_);
            events_.push_back(event);
        };
        processor_.emplace(site_.executor(), how);
    }
    void stop() {
        auto stopped = processor_->async_stop(asio::use_future);
        EXPECT_EQ(stopped.wait_for(30s), std::future_status::ready);
        processor_.reset();
    }
    void destroy() { processor_.reset(); }

    std::vector<kafka::consumer_event> events(kind type) const {
        const std::lock_guard hold(mutex_);
        std::vector<kafka::consumer_event> found;
        for (const auto& each : events_) {
            if (each.type == type)
                found.push_back(each);
        }
        return found;
    }
    std::size_t assigned() const {
        return events(kind::assigned).size() - events(kind::revoked).size();
    }
    std::string event_texts() const {
        const std::lock_guard hold(mutex_);
        std::string all;
        for (const auto& each : events_)
            all += std::string(to_string(each.type)) + ' ' + each.at.topic + '/' +
                   std::to_string(each.at.partition) + " at " + std::to_string(each.offset) + ' ' +
                   each.code.message() + ' ' + each.text + '\n';
        return all;
    }

private:
    // Before `site_`: in that context the observer is called until the processor has left its
    // group.
    mutable std::mutex mutex_;
    std::vector<kafka::consumer_event> events_;
    outbox_site site_;
    std::optional<kafka::processor> processor_;
};

class KafkaProcessor : public testing::Test {
protected:
    static constexpr int partitions = 3;

    explicit KafkaProcessor(kafka_broker& broker, raw_kafka_settings login = {})
        : broker_(broker), login_(std::move(login)) {
        broker_.create_topic(from_, partitions);
        broker_.create_topic(to_, partitions);
    }
    KafkaProcessor() : KafkaProcessor(shared_kafka()) {}

    /// Makes a record with the same key and "made of VALUE".
    records made_of(const consumed_record& record) const {
        records results;
        results.emplace_back(to_, record.key, "made of " + *record.value);
        return results;
    }
    kafka::processor_config config(const std::string& id) const {
        kafka::processor_config config(kafka::kafka_config(broker_.address()), group_, {from_});
        config.cluster.settings = {
            {"linger.ms", "0"},
            {"reconnect.backoff.ms", "20"},
            {"reconnect.backoff.max.ms", "100"},
            {"heartbeat.interval.ms", "100"},
            {"fetch.wait.max.ms", "50"},
            {"auto.offset.reset", "earliest"}};
        for (const auto& [name, value] : login_)
            config.cluster.settings[name] = value;
        config.transactional_id = group_ + "." + id;
        config.handler = [this](const consumed_record& record) -> asio::awaitable<records> {
            co_return made_of(record);
        };
        config.batch_rows = 10;
        config.attempts_max = 3;
        config.retry_first = 1ms;
        config.retry_max = 20ms;
        return config;
    }
    /// One record for each partition, with the key of its number.
    void produce(int rounds = 1) {
        const raw_kafka by = open_raw_producer(broker_.address(), login_);
        for (int i = 0; i < rounds; ++i, ++rounds_)
            for (int part = 0; part < partitions; ++part)
                raw_kafka_produce(by, from_, part, std::to_string(part), std::to_string(rounds_));
    }
    std::map<std::string, texts> seen(const std::string& topic) const {
        std::map<std::string, texts> found;
        for (const kafka_seen& each : reader().read_settled(topic))
            found[each.key.value()].push_back(each.value.value());
        return found;
    }
    std::map<std::string, texts> wanted() const {
        std::map<std::string, texts> result;
        for (int part = 0; part < partitions; ++part)
            for (int round = 0; round < rounds_; ++round)
                result[std::to_string(part)].push_back("made of " + std::to_string(round));
        return result;
    }
    kafka_reader reader() const { return kafka_reader(broker_.address(), login_); }
    std::size_t count() const { return reader().read(to_).size(); }
    /// Another producer of the same id.
    void fence(const std::string& id) const {
        raw_kafka_settings how = login_;
        how.emplace_back("transactional.id", group_ + "." + id);
        const raw_kafka rival = open_raw_kafka(RD_KAFKA_PRODUCER, broker_.address(), how);
        check_raw_kafka(::rd_kafka_init_transactions(rival.get(), 10'000));
    }
    void expect_each_once(const processing& by) {
        const auto all = static_cast<std::size_t>(rounds_ * partitions);
        EXPECT_TRUE(eventually([&] { return count() >= all; }, 40s)) << count() << by.event_texts();
        EXPECT_EQ(seen(to_), wanted()) << by.event_texts();
    }

    kafka_broker& broker_;
    const raw_kafka_settings login_;
    const std::string from_ = fresh_name("from");
    const std::string to_ = fresh_name("to");
    const std::string group_ = fresh_name("group");
    int rounds_ = 0;
};

TEST_F(KafkaProcessor, MakesOfEachRecordWhatItIsToMakeOnceAndInOrder) {
    produce(10);
    processing by;
    by.start(config("one"));
    produce(5);
    expect_each_once(by);
    EXPECT_EQ(by.events(kind::assigned).size(), 3u) << by.event_texts();
    EXPECT_TRUE(by.events(kind::failed).empty()) << by.event_texts();
    by.stop();
    produce(2);
    by.start(config("one"));
    expect_each_once(by);
}

TEST_F(KafkaProcessor, SeveralOfAGroupThatComeAndGoMakeEachOnce) {
    processing one;
    processing two;
    one.start(config("one"));
    produce(3);
    EXPECT_TRUE(eventually([&] { return one.assigned() == 3; })) << one.event_texts();
    two.start(config("two"));
    EXPECT_TRUE(eventually([&] {
        produce();
        return two.assigned() > 0 && one.assigned() + two.assigned() == 3;
    })) << one.event_texts()
        << two.event_texts();
    produce(5);
    one.stop();
    produce(2);
    EXPECT_TRUE(eventually([&] { return two.assigned() == 3; })) << two.event_texts();
    one.start(config("one"));
    produce(2);
    two.destroy();
    produce(2);
    expect_each_once(one);
}

TEST_F(KafkaProcessor, WhatFailsIsTriedAgainAndThenStopsItsPartitionAlone) {
    std::atomic<int> calls = 0;
    auto how = config("one");
    how.handler = [this, &calls](const consumed_record& record) -> asio::awaitable<records> {
        if (*record.key == "1" && *record.value == "2" && ++calls < 100)
            throw std::runtime_error("cannot be made");
        co_return made_of(record);
    };
    processing by;
    by.start(how);
    produce(5);
    EXPECT_TRUE(eventually([&] { return count() == 12; })) << count() << by.event_texts();
    EXPECT_TRUE(eventually([&] { return by.events(kind::refused).size() == 1; }))
        << by.event_texts();
    EXPECT_EQ(calls, 3);
    EXPECT_EQ(by.events(kind::failed).size(), 2u) << by.event_texts();
    EXPECT_EQ(by.events(kind::refused)[0].at, kafka::topic_partition(from_, 1)) << by.event_texts();
    EXPECT_EQ(by.events(kind::refused)[0].text, "cannot be made");
    by.stop();
    calls = 100;  // it has been mended
    by.start(how);
    expect_each_once(by);
}

TEST_F(KafkaProcessor, WhatFailsTooOftenGoesToTheDeadLetters) {
    const std::string dead = fresh_name("dead");
    broker_.create_topic(dead);
    auto how = config("one");
    how.dead_letter_topic = dead;
    how.handler = [this](const consumed_record& record) -> asio::awaitable<records> {
        if (*record.value == "1")
            throw std::runtime_error("cannot be made");
        co_return made_of(record);
    };
    processing by;
    by.start(how);
    produce(3);
    EXPECT_TRUE(eventually([&] { return count() == 6; })) << count() << by.event_texts();
    const auto letters = reader().read_settled(dead);
    ASSERT_EQ(letters.size(), 3u) << by.event_texts();
    EXPECT_TRUE(eventually([&] { return by.events(kind::dead_letter).size() == 3; }))
        << by.event_texts();
    EXPECT_EQ(letters[0].value, "1");
    ASSERT_EQ(letters[0].headers.size(), 4u);
    EXPECT_EQ(letters[0].headers[0].first, "mortise-dead-topic");
    EXPECT_EQ(letters[0].headers[0].second, from_);
    EXPECT_EQ(letters[0].headers[1].second, letters[0].key);
    EXPECT_EQ(letters[0].headers[2].second, "1");
    EXPECT_EQ(letters[0].headers[3].second, "cannot be made");
}

TEST_F(KafkaProcessor, WhatKafkaDoesNotTakeGoesToTheDeadLetters) {
    const std::string dead = fresh_name("dead");
    const std::string narrow = fresh_name("narrow");
    broker_.create_topic(dead);
    broker_.create_topic(narrow, 1, {{"max.message.bytes", "2000"}});
    auto how = config("one");
    how.dead_letter_topic = dead;
    how.handler = [this, narrow](const consumed_record& record) -> asio::awaitable<records> {
        auto results = made_of(record);
        if (*record.value == "1")
            results.emplace_back(narrow, record.key, std::string(5'000, 'x'));
        co_return results;
    };
    produce(4);
    processing by;
    by.start(how);
    EXPECT_TRUE(eventually([&] { return count() == 9; })) << count() << by.event_texts();
    const auto letters = reader().read_settled(dead);
    ASSERT_EQ(letters.size(), 3u) << by.event_texts();
    EXPECT_EQ(letters[0].value, "1");
    ASSERT_EQ(letters[0].headers.size(), 4u);
    EXPECT_TRUE(letters[0].headers[3].second.value().starts_with("Kafka does not take it"));
    ASSERT_TRUE(eventually([&] { return by.events(kind::dead_letter).size() == 3; }))
        << by.event_texts();
    EXPECT_EQ(by.events(kind::dead_letter)[0].code, kafka::condition::too_large);
    EXPECT_TRUE(by.events(kind::failed).empty()) << by.event_texts();
    auto expected = wanted();
    for (auto& [key, values] : expected)
        std::erase(values, "made of 1");
    EXPECT_EQ(seen(to_), expected) << "all that was made of a record, or nothing";
}

TEST_F(KafkaProcessor, WhatKafkaDoesNotTakeStopsItsPartitionIfThereAreNoDeadLetters) {
    std::atomic<bool> mended = false;
    auto how = config("one");
    how.handler = [this, &mended](const consumed_record& record) -> asio::awaitable<records> {
        auto results = made_of(record);
        if (*record.key == "1" && *record.value == "2" && !mended)
            results[0].value = std::string(2'000'000, 'x');
        co_return results;
    };
    produce(5);
    processing by;
    by.start(how);
    EXPECT_TRUE(eventually([&] { return count() == 12; })) << count() << by.event_texts();
    EXPECT_TRUE(eventually([&] { return by.events(kind::refused).size() == 1; }))
        << by.event_texts();
    EXPECT_EQ(by.events(kind::refused)[0].at, kafka::topic_partition(from_, 1)) << by.event_texts();
    EXPECT_EQ(by.events(kind::refused)[0].code, kafka::condition::too_large) << by.event_texts();
    by.stop();
    mended = true;
    by.start(how);
    expect_each_once(by);
}

TEST_F(KafkaProcessor, OneThatWasFencedGoesOnFromWhatWasCommitted) {
    processing by;
    by.start(config("one"));
    produce(3);
    expect_each_once(by);
    fence("one");
    produce(3);
    expect_each_once(by);
    EXPECT_FALSE(by.events(kind::failed).empty()) << by.event_texts();
    EXPECT_EQ(by.events(kind::assigned).size(), 6u) << by.event_texts();  // read again from there
}

TEST_F(KafkaProcessor, IsCheckedWhenItIsMade) {
    processing by;
    const auto refusal = [&](const kafka::processor_config& how) {
        try {
            by.start(how);
            by.destroy();
            return std::string();
        } catch (const error& e) {
            return e.value();
        }
    };
    EXPECT_EQ(refusal(config("one")), "");
    auto bad = config("one");
    bad.handler = nullptr;
    EXPECT_EQ(refusal(bad), "handler");
    bad = config("one");
    bad.transactional_id.clear();
    EXPECT_EQ(refusal(bad), "transactional_id");
    bad = config("one");
    bad.attempts_max = 0;
    EXPECT_EQ(refusal(bad), "attempts_max");
    bad = config("one");
    bad.group.clear();
    EXPECT_EQ(refusal(bad), "group");
    bad = config("one");
    bad.cluster.settings["acks"] = "1";
    EXPECT_EQ(refusal(bad), "acks");
}

class KafkaProcessorAlone : public KafkaProcessor {
protected:
    KafkaProcessorAlone() : KafkaProcessor(killable_kafka()) {}
};

TEST_F(KafkaProcessorAlone, ABrokerThatIsKilledAndStoppedLosesAndRepeatsNothing) {
    processing by;
    by.start(config("one"));
    produce(5);
    expect_each_once(by);
    produce(10);
    broker_.kill();
    broker_.start();
    produce(5);
    expect_each_once(by);
    produce(5);
    broker_.suspend();
    eventually([] { return false; }, 2s);
    broker_.resume();
    produce(2);
    expect_each_once(by);
}

// Its offsets may have expired: then all would be made once more.
TEST_F(KafkaProcessor, AGroupWithoutOffsetsIsRefusedUntilItIsToldWhereToBegin) {
    produce(2);
    auto untold = config("one");
    untold.cluster.settings.erase("auto.offset.reset");
    processing by;
    by.start(untold);
    EXPECT_TRUE(eventually([&] { return by.events(kind::refused).size() == partitions; }))
        << by.event_texts();
    EXPECT_EQ(by.events(kind::refused).at(0).code, kafka::errc::no_offset) << by.event_texts();
    EXPECT_TRUE(seen(to_).empty());
    by.stop();
    by.start(config("one"));
    expect_each_once(by);
    by.stop();
    // From now on it knows.
    by.start(untold);
    produce(1);
    expect_each_once(by);
}

class KafkaProcessorTls : public KafkaProcessor {
protected:
    static std::string text_of(const std::filesystem::path& file) {
        return {std::istreambuf_iterator<char>(std::ifstream(file).rdbuf()), {}};
    }
    static kafka_broker::settings speaks_tls(const std::filesystem::path& keys) {
        const auto& server = shared_tls().server();
        std::ofstream(keys) << text_of(server.key) << text_of(server.certificate);
        return {
            "listeners=SSL://127.0.0.1:@broker_port@,CONTROLLER://127.0.0.1:@controller_port@",
            "advertised.listeners=SSL://127.0.0.1:@broker_port@",
            "listener.security.protocol.map=CONTROLLER:PLAINTEXT,SSL:SSL",
            "inter.broker.listener.name=SSL",
            "ssl.keystore.type=PEM",
            "ssl.keystore.location=" + keys.string(),
            "ssl.truststore.type=PEM",
            "ssl.truststore.location=" + shared_tls().authority().string()};
    }
    static raw_kafka_settings login() {
        return {
            {"security.protocol", "ssl"}, {"ssl.ca.location", shared_tls().authority().string()}};
    }
    static kafka_broker& tls_broker() {
        static const scratch_folder folder;
        static kafka_broker broker(speaks_tls(folder.path() / "keys.pem"), login());
        return broker;
    }
    KafkaProcessorTls() : KafkaProcessor(tls_broker(), login()) {}

    const scratch_folder folder_;
};

TEST_F(KafkaProcessorTls, ABrokerThatIsNotTrustedIsSaidToBeThat) {
    auto wrong = config("one").cluster;
    wrong.settings.erase("heartbeat.interval.ms");
    wrong.settings["ssl.ca.location"] = shared_tls().stranger().certificate.string();
    wrong.init_wait_max = 1s;
    outbox_site site;
    kafka::transactional_producer producer(site.executor(), wrong, "id");
    EXPECT_THROW(producer.async_init(asio::use_future).get(), boost::system::system_error);
    EXPECT_NE(producer.trouble().find(broker_.address()), std::string::npos) << producer.trouble();
    EXPECT_NE(producer.trouble().find("certificate"), std::string::npos) << producer.trouble();
}

TEST_F(KafkaProcessorTls, ACertificateThatIsGoneWhenAProducerIsMadeAnewIsSaidAndTriedAgain) {
    const auto authority = folder_.path() / "authority.pem";
    std::filesystem::copy_file(shared_tls().authority(), authority);
    auto how = config("one");
    how.cluster.settings["ssl.ca.location"] = authority.string();
    processing by;
    by.start(how);
    produce(2);
    expect_each_once(by);
    std::filesystem::remove(authority);
    fence("one");
    produce(2);
    EXPECT_TRUE(eventually([&] {
        const auto failed = by.events(kind::failed);
        return std::count_if(failed.begin(), failed.end(), [](const auto& each) {
                   return each.code == mortise::errc::bad_config &&
                          each.text.find("ssl.ca.location") != std::string::npos;
               }) >= 2;
    })) << by.event_texts();
    std::filesystem::copy_file(shared_tls().authority(), authority);
    expect_each_once(by);
}

}  // namespace
}  // namespace mortise::test::kafka_processor_test
