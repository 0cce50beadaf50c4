// SPDX-License-Identifier: BSL-1.0
// The sink of an outbox at a real broker: messages and mark together, one owner at a time.
#include "mortise/kafka/kafka_sink.hpp"
#include "sink/sink_records.hpp"
#include "support/eventually.hpp"
#include "support/kafka_broker.hpp"
#include "support/kafka_reader.hpp"
#include "support/machine_delay.hpp"
#include "unit/kafka/kafka_user.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>

namespace mortise::test::kafka_sink_test {
namespace {

using namespace std::chrono_literals;
using outbox::published;
using texts = std::vector<std::string>;

/// The sink of one shard, and the context that it works in.
class sink_user {
public:
    sink_user(const kafka::kafka_sink_config& config, std::uint32_t shard)
        : sink_(kafka::make_kafka_sink(config)(context_.get_executor(), shard)) {}

    result<outbox::opening> open(const outbox::shard_name& shard) {
        return run(sink_->open(shard));
    }
    published publish(const std::vector<outbox::outgoing>& messages, const outbox::mark& after) {
        sent_ = messages;
        return run(sink_->publish(sent_, after));
    }
    std::string trouble() const { return sink_->trouble(); }
    void start_opening(const outbox::shard_name& shard) {
        begin(opened_or_ended(sink_->open(shard)), opened_);
    }
    const std::optional<result<outbox::opening>>& opened() const { return opened_; }
    void start(const std::vector<outbox::outgoing>& messages, const outbox::mark& after) {
        sent_ = messages;
        begin(sink_->publish(sent_, after), outcome_);
    }
    void cancel() { signal_.emit(asio::cancellation_type::terminal); }
    /// While something runs that is not of this thread.
    void step(std::chrono::milliseconds time) {
        context_.restart();
        context_.poll();  // whatever the time, it has begun
        context_.run_for(time);
    }
    const std::optional<published>& outcome() const { return outcome_; }
    published finish() {
        context_.restart();
        context_.run();
        return outcome_.value();
    }

private:
    // A signal between two steps ends it as it ends any coroutine: by an exception.
    static asio::awaitable<result<outbox::opening>>
    opened_or_ended(asio::awaitable<result<outbox::opening>> opening) {
        try {
            co_return co_await std::move(opening);
        } catch (const boost::system::system_error& thrown) {
            co_return thrown.code();
        }
    }
    template <class Value>
    void begin(asio::awaitable<Value> work, std::optional<Value>& into) {
        auto done = [&into](std::exception_ptr failed, Value value) {
            if (failed)
                std::rethrow_exception(failed);
            into = std::move(value);
        };
        asio::co_spawn(
            context_, std::move(work), asio::bind_cancellation_slot(signal_.slot(), std::move(done))
        );
    }
    template <class Value>
    Value run(asio::awaitable<Value> work) {
        std::optional<Value> result;
        begin(std::move(work), result);
        context_.restart();
        context_.run();
        return std::move(result.value());
    }

    asio::io_context context_;
    asio::cancellation_signal signal_;
    std::unique_ptr<outbox::sink> sink_;
    std::optional<published> outcome_;
    std::vector<outbox::outgoing> sent_;
    std::optional<result<outbox::opening>> opened_;
};

class KafkaSink : public testing::Test {
protected:
    explicit KafkaSink(kafka_broker& broker) : broker_(broker) {
        broker_.create_topic(topic_);
        shard_.table = fresh_name("table");
    }
    KafkaSink() : KafkaSink(shared_kafka()) {}

    kafka::kafka_sink_config config() const {
        kafka::kafka_sink_config config((kafka::kafka_config(broker_.address())));
        config.cluster.settings = {{"linger.ms", "0"}, {"reconnect.backoff.max.ms", "100"}};
        config.progress_topic = progress_;
        config.progress_partitions = 2;
        return config;
    }

    /// An open sink.
    std::unique_ptr<sink_user> make_open(std::uint32_t shard = 0) {
        auto user = std::make_unique<sink_user>(config(), shard);
        outbox::shard_name name = shard_;
        name.shard = shard;
        const auto opened = user->open(name);
        EXPECT_TRUE(opened) << opened.error().message();
        return user;
    }

    std::vector<outbox::outgoing> messages(const texts& values) {
        std::vector<outbox::outgoing> result;
        for (const std::string& value : values) {
            outbox::outgoing each;
            each.row = ++row_;
            each.message = outbox::message(topic_, "key", value);
            each.message.id = "id-" + value.substr(0, 10);
            each.message.headers.emplace_back("from", "test");
            each.written = std::chrono::system_clock::time_point(1'700'000'000s);
            result.push_back(each);
        }
        return result;
    }
    outbox::mark mark_after(std::uint32_t shard = 0) {
        outbox::mark mark;
        mark.table = shard_.table;
        mark.shard = shard;
        mark.sequence = ++sequence_;
        mark.row = row_;
        mark.message = "id";
        return mark;
    }

    texts seen() const { return kafka_reader(broker_.address()).settled_values(topic_); }

    /// Leaves the transaction of a relay that dies in the middle of a batch of that shard.
    raw_kafka leave_open(std::uint32_t shard, const outbox::mark& mark) {
        raw_kafka left = open_raw_kafka(
            RD_KAFKA_PRODUCER,
            broker_.address(),
            {{"transactional.id", "mortise." + shard_.table + "." + std::to_string(shard)}}
        );
        check_raw_kafka(::rd_kafka_init_transactions(left.get(), 10'000));
        check_raw_kafka(::rd_kafka_begin_transaction(left.get()));
        const std::string key = shard_.table + "/" + std::to_string(shard);
        raw_kafka_produce(left, progress_, static_cast<int>(shard % 2), key, mark.text());
        return left;
    }

    kafka_broker& broker_;
    const std::string topic_ = fresh_name("topic");
    const std::string progress_ = fresh_name("progress");
    outbox::shard_name shard_;
    std::int64_t row_ = 0;
    std::uint64_t sequence_ = 0;
};

TEST_F(KafkaSink, PublishesABatchAndFindsItsMarkAgain) {
    sink_user first(config(), 0);
    const auto opened = first.open(shard_);
    ASSERT_TRUE(opened) << opened.error().message();
    EXPECT_FALSE(opened->last);
    EXPECT_NE(opened->identity.find(broker_.cluster_id()), std::string::npos);

    ASSERT_EQ(first.publish(messages({"a"}), mark_after()).type, published::kind::committed);
    const auto batch = messages({"b", "c"});
    const outbox::mark mark = mark_after();
    const published outcome = first.publish(batch, mark);
    ASSERT_EQ(outcome.type, published::kind::committed) << outcome.text;
    EXPECT_TRUE(kafka::detail::parse_place(outcome.place)) << outcome.place;

    for (const std::string& place : {outcome.place, std::string(), std::string("1:7")}) {
        outbox::shard_name again = shard_;
        again.first_sought = place;
        sink_user second(config(), 0);
        const auto found = second.open(again);
        ASSERT_TRUE(found) << found.error().message();
        EXPECT_EQ(found->last, mark);
        EXPECT_EQ(found->identity, opened->identity);
    }
    EXPECT_EQ(seen(), (texts{"a", "b", "c"}));
    const auto record = kafka_reader(broker_.address()).read_settled(topic_).front();
    EXPECT_EQ(record.key, "key");
    EXPECT_EQ(record.timestamp, 1'700'000'000'000);
    ASSERT_EQ(record.headers.size(), 2u);
    EXPECT_EQ(record.headers[0].first, "from");
    EXPECT_EQ(record.headers[1].first, "mortise-id");
    EXPECT_EQ(record.headers[1].second, "id-a");
}

TEST_F(KafkaSink, FencesWhoHadTheShardBefore) {
    const auto first = make_open();
    ASSERT_EQ(first->publish(messages({"a"}), mark_after()).type, published::kind::committed);
    const auto second = make_open();
    const published outcome = first->publish(messages({"b"}), mark_after());
    EXPECT_EQ(outcome.type, published::kind::lost);
    EXPECT_EQ(outcome.code, kafka::condition::fenced) << outcome.code.message();
    EXPECT_EQ(second->publish(messages({"c"}), mark_after()).type, published::kind::committed);
    EXPECT_EQ(seen(), (texts{"a", "c"}));
    // And back again.
    ASSERT_TRUE(first->open(shard_));
    EXPECT_EQ(first->publish(messages({"d"}), mark_after()).type, published::kind::committed);
    EXPECT_EQ(seen(), (texts{"a", "c", "d"}));
}

TEST_F(KafkaSink, ReadsTheMarkOnlyWhenWhatWasUnderWayIsSettled) {
    const outbox::mark good = mark_after();
    ASSERT_EQ(make_open()->publish(messages({"a"}), good).type, published::kind::committed);
    const raw_kafka dead = leave_open(0, mark_after());
    sink_user next(config(), 0);
    const auto opened = next.open(shard_);
    ASSERT_TRUE(opened) << opened.error().message();
    EXPECT_EQ(opened->last, good);
}

TEST_F(KafkaSink, AShardDoesNotWaitForAnother) {
    make_open();
    const raw_kafka dead = leave_open(0, mark_after());
    const auto other = make_open(1);
    const outbox::mark mark = mark_after(1);
    EXPECT_EQ(other->publish(messages({"a"}), mark).type, published::kind::committed);
    outbox::shard_name name = shard_;
    name.shard = 1;
    EXPECT_EQ(other->open(name)->last, mark);
}

TEST_F(KafkaSink, NamesMessagesThatCanNeverBePublished) {
    const auto sink = make_open();
    auto batch = messages({"a", std::string(2'000'000, 'x'), "b"});
    batch[2].message.topic = fresh_name("missing");
    const published outcome = sink->publish(batch, mark_after());
    ASSERT_EQ(outcome.type, published::kind::refused) << outcome.text;
    ASSERT_EQ(outcome.poison.size(), 1u);
    EXPECT_EQ(outcome.poison[0].index, 2u);  // before anything is sent
    batch.pop_back();
    const published next = sink->publish(batch, mark_after());
    ASSERT_EQ(next.type, published::kind::refused) << next.text;
    ASSERT_EQ(next.poison.size(), 1u);
    EXPECT_EQ(next.poison[0].index, 1u);
    EXPECT_EQ(next.poison[0].code, kafka::condition::too_large);
    batch.pop_back();
    EXPECT_EQ(sink->publish(batch, mark_after()).type, published::kind::committed);
    EXPECT_EQ(seen(), texts{"a"});
}

TEST_F(KafkaSink, KeepsAMarkWithoutMessages) {
    const auto sink = make_open();
    const outbox::mark mark = mark_after();
    EXPECT_EQ(sink->publish({}, mark).type, published::kind::committed);
    EXPECT_EQ(sink->open(shard_)->last, mark);
}

TEST_F(KafkaSink, SaysOfWhichBrokerItCouldNotBeOpened) {
    auto wrong = config();
    wrong.cluster.bootstrap_servers = "127.0.0.1:1";
    wrong.cluster.answer_wait_max = 300ms;
    sink_user nowhere(wrong, 0);
    EXPECT_EQ(nowhere.open(shard_).error(), mortise::condition::retryable);
    EXPECT_NE(nowhere.trouble().find("127.0.0.1:1"), std::string::npos) << nowhere.trouble();
    sink_user here(config(), 0);
    EXPECT_TRUE(here.open(shard_));
    EXPECT_EQ(here.trouble(), "");
}

TEST_F(KafkaSink, RefusesAProgressTopicThatIsNone) {
    broker_.create_topic(progress_, 2);
    sink_user sink(config(), 0);
    EXPECT_EQ(sink.open(shard_).error(), kafka::errc::topic_differs);
    auto blind = config();
    blind.make_progress_topic = false;
    sink_user trusting(blind, 0);
    EXPECT_TRUE(trusting.open(shard_));
    kafka_user somebody(config().cluster, "somebody");
    ASSERT_FALSE(somebody.init());
    kafka::transaction_batch nonsense;
    nonsense.last = kafka::record(progress_, shard_.table + "/0", "nonsense");
    nonsense.last->partition = 0;
    ASSERT_EQ(somebody.run(nonsense).type, kafka::transaction_outcome::kind::committed);
    const auto opened = trusting.open(shard_);
    ASSERT_TRUE(opened) << opened.error().message();
    EXPECT_EQ(opened->unreadable, kafka::errc::not_a_mark);
    EXPECT_NE(opened->unreadable_text.find("nonsense"), std::string::npos);
    EXPECT_FALSE(opened->last);
    // After the decision where to go on, a mark takes its place.
    const outbox::mark mark = mark_after();
    EXPECT_EQ(trusting.publish(messages({"a"}), mark).type, published::kind::committed);
    EXPECT_EQ(trusting.open(shard_)->last, mark);
}

TEST_F(KafkaSink, RefusesAProgressTopicThatDeletesWhatItCompacts) {
    broker_.create_topic(progress_, 2, {{"cleanup.policy", "compact,delete"}});
    sink_user sink(config(), 0);
    EXPECT_EQ(sink.open(shard_).error(), kafka::errc::topic_differs);
    EXPECT_NE(sink.trouble().find("compact,delete: set it to compact"), std::string::npos)
        << sink.trouble();
}

// A path may be checked at any time; but files are read beside the event loop.
TEST_F(KafkaSink, SaysThatACertificateIsMissingWhenItIsOpened) {
    auto wrong = config();
    wrong.cluster.settings["security.protocol"] = "ssl";
    wrong.cluster.settings["ssl.ca.location"] = "/nowhere/at/all.pem";
    sink_user sink(wrong, 0);
    EXPECT_EQ(sink.open(shard_).error(), mortise::errc::bad_config);
    EXPECT_NE(sink.trouble().find("ssl.ca.location"), std::string::npos) << sink.trouble();
}

TEST_F(KafkaSink, FindsNoMarkInAProgressTopicThatWasMadeAnew) {
    const auto sink = make_open();
    const published outcome = sink->publish(messages({"a"}), mark_after());
    ASSERT_EQ(outcome.type, published::kind::committed);
    broker_.delete_topic(progress_);
    outbox::shard_name again = shard_;
    again.first_sought = outcome.place;
    sink_user next(config(), 0);
    result<outbox::opening> opened = error_code();
    EXPECT_TRUE(eventually([&] { return (opened = next.open(again)).has_value(); }));
    ASSERT_TRUE(opened) << opened.error().message();
    EXPECT_FALSE(opened->last);
}

TEST_F(KafkaSink, IsCheckedWhenItIsMade) {
    const auto refusal = [](const kafka::kafka_sink_config& config) {
        try {
            kafka::make_kafka_sink(config);
            return std::string();
        } catch (const error& e) {
            return e.value();
        }
    };
    EXPECT_EQ(refusal(config()), "");
    auto bad = config();
    bad.progress_topic.clear();
    EXPECT_EQ(refusal(bad), "progress_topic");
    bad = config();
    bad.progress_partitions = 0;
    EXPECT_EQ(refusal(bad), "progress_partitions");
    bad = config();
    bad.progress_replicas = 0;
    EXPECT_EQ(refusal(bad), "progress_replicas");
    bad = config();
    bad.id_prefix.clear();
    EXPECT_EQ(refusal(bad), "id_prefix");
    bad = config();
    bad.cluster.settings["acks"] = "1";
    EXPECT_EQ(refusal(bad), "acks");
    bad = config();
    bad.cluster.settings["partitioner"] = "random";
    EXPECT_EQ(refusal(bad), "partitioner");
    bad.cluster.settings["partitioner"] = "consistent_random";
    EXPECT_EQ(refusal(bad), "");
}

TEST_F(KafkaSink, EndsEarlyWhenItIsCancelledWhileNobodyAnswers) {
    auto nobody = config();
    nobody.cluster.bootstrap_servers = "127.0.0.1:1";
    sink_user sink(nobody, 0);
    sink.start_opening(shard_);
    sink.step(300ms);
    EXPECT_FALSE(sink.opened());
    const machine_delay delay;
    const clock::time_point begin = clock::now();
    sink.cancel();
    sink.step(5s);
    ASSERT_TRUE(sink.opened());
    EXPECT_EQ(sink.opened()->error(), asio::error::operation_aborted);
    EXPECT_LT(clock::now() - begin, 2s + delay.so_far());
}

// At whatever moment: the answer may be on its way already.
TEST_F(KafkaSink, EndsEarlyWhenItIsCancelledWhileItIsOpened) {
    make_open();
    int cancelled = 0;
    for (auto after = 0ms; after < 10s; after += std::max(4ms, after / 8)) {
        sink_user sink(config(), 0);
        sink.start_opening(shard_);
        sink.step(after);
        if (sink.opened())
            break;
        ++cancelled;
        sink.cancel();
        sink.step(5s);
        ASSERT_TRUE(sink.opened()) << after.count();
        if (!*sink.opened()) {
            EXPECT_EQ(sink.opened()->error(), asio::error::operation_aborted) << after.count();
        }
        const auto again = sink.open(shard_);
        EXPECT_TRUE(again) << after.count() << ": " << again.error().message();
    }
    EXPECT_GT(cancelled, 1);
}

TEST_F(KafkaSink, PlacesAreTexts) {
    EXPECT_EQ(kafka::detail::place_text({3, 42}), "3:42");
    EXPECT_EQ(kafka::detail::parse_place("3:42")->offset, 42);
    for (const char* bad : {"", ":", "3", "3:", ":4", "-1:4", "3:-4", "3:4 ", "3:4:5", "x:1"})
        EXPECT_FALSE(kafka::detail::parse_place(bad)) << bad;
}

TEST(KafkaSinkAlone, EndsEarlyWhenItIsCancelledAndHasDoneAllOrNothing) {
    kafka_broker& broker = killable_kafka();
    const std::string topic = fresh_name("topic");
    broker.create_topic(topic);
    kafka::kafka_sink_config config((kafka::kafka_config(broker.address())));
    config.progress_topic = fresh_name("progress");
    config.progress_partitions = 1;
    outbox::shard_name shard;
    shard.table = "table";
    sink_user sink(config, 0);
    ASSERT_TRUE(sink.open(shard));
    outbox::mark mark;
    mark.table = "table";
    mark.sequence = 1;
    std::vector<outbox::outgoing> batch(1);
    batch[0].message = outbox::message(topic, "key", "a");
    broker.suspend();
    sink.start(batch, mark);
    sink.step(500ms);
    EXPECT_FALSE(sink.outcome());
    const machine_delay delay;
    const clock::time_point begin = clock::now();
    sink.cancel();
    EXPECT_EQ(sink.finish().type, published::kind::lost);
    EXPECT_LT(clock::now() - begin, 5s + delay.so_far());
    broker.resume();
    result<outbox::opening> opened = error_code();
    EXPECT_TRUE(eventually([&] { return (opened = sink.open(shard)).has_value(); }, 30s));
    ASSERT_TRUE(opened) << opened.error().message();
    const texts now = kafka_reader(broker.address()).settled_values(topic);
    EXPECT_EQ(now, opened->last ? texts{"a"} : texts{});
    EXPECT_EQ(sink.publish(batch, mark).type, published::kind::committed);
}

}  // namespace
}  // namespace mortise::test::kafka_sink_test
