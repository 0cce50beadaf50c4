// SPDX-License-Identifier: BSL-1.0
// The network delivers a request to end a transaction in the middle of the next one (KAFKA-17754).
// Brokers that know only the first version of transactions cannot tell.
#include "chaos/relay_shop.hpp"
#include "support/eventually.hpp"
#include "support/proxied_broker.hpp"

#include <chrono>
#include <csignal>
#include <future>
#include <string>
#include <vector>

namespace mortise::test::relay_late_end_test {
namespace {

using namespace std::chrono_literals;

class RelayLateEnd : public relay_shop {
protected:
    RelayLateEnd() : relay_shop(proxied_broker::get().broker()) {}

    kafka_proxy& proxy() { return proxied_broker::get().proxy(); }
    std::string proxied() { return "127.0.0.1:" + std::to_string(proxy().port()); }
    kafka_reader consumer() const { return kafka_reader(broker_.address()); }
};

// Shows the harm to a producer that goes on after it has asked for its commit twice.
TEST_F(RelayLateEnd, CommitsHalfOfTheNextTransactionOfAProducerThatIsKept) {
    const raw_kafka producer = open_raw_kafka(
        RD_KAFKA_PRODUCER, proxied(), {{"transactional.id", fresh_name("id")}, {"linger.ms", "0"}}
    );
    check_raw_kafka(::rd_kafka_init_transactions(producer.get(), 10'000));
    const auto kept = proxy().keep_next_end();
    check_raw_kafka(::rd_kafka_begin_transaction(producer.get()));
    raw_kafka_produce(producer, topic_, 0, "key", "first");
    check_raw_kafka(::rd_kafka_commit_transaction(producer.get(), 20'000));
    ASSERT_EQ(kept.wait_for(0s), std::future_status::ready);
    check_raw_kafka(::rd_kafka_begin_transaction(producer.get()));
    raw_kafka_produce(producer, topic_, 0, "key", "half of the second");
    EXPECT_EQ(proxy().deliver(), 0) << "this broker can tell";
    const std::vector<std::string> torn{"first", "half of the second"};
    EXPECT_TRUE(eventually([&] { return consumer().values(topic_) == torn; }));
}

TEST_F(RelayLateEnd, IsRefusedByTheBrokerAsARelayHasANewProducerByThen) {
    expect_end(*start({"reshard", "shards=1"}), 0);
    expect_end(*start_writer({"transactions=20"}), 0);
    auto kept = proxy().keep_next_end();
    const auto relay = start_relay(
        {"servers=" + proxied(), "purge=100000", "purge_after=3600000"},
        {"MORTISE_STOP_AT=kafka.before_last:2"}
    );
    ASSERT_EQ(kept.wait_for(30s), std::future_status::ready) << output();
    ASSERT_TRUE(relay->await_stop()) << output();
    const auto before = consumer().values(topic_);
    EXPECT_EQ(before.size(), 7u) << "the first batch, and nothing of the second";
    EXPECT_NE(proxy().deliver(), 0);
    relay->resume();
    EXPECT_TRUE(all_is_published()) << output();
    relay->send(SIGTERM);
    expect_end(*relay, 0);
    drain();
    expect_exactly_once();
}

// librdkafka reports the same failure only once in half a minute.
TEST_F(RelayLateEnd, IsExpectedAlsoIfTheConnectionHadBeenLostBefore) {
    expect_end(*start({"reshard", "shards=1"}), 0);
    expect_end(*start_writer({"transactions=20"}), 0);
    const auto relay = stopped_relay("kafka.half_produced", 2, {"servers=" + proxied()});
    ASSERT_TRUE(relay);
    EXPECT_EQ(output().find("a new producer goes on"), std::string::npos) << output();
    auto kept = proxy().keep_next_end();
    proxy().cut_all();
    relay->resume();
    ASSERT_EQ(kept.wait_for(30s), std::future_status::ready) << output();
    EXPECT_TRUE(all_is_published()) << output();
    EXPECT_NE(output().find("a new producer goes on"), std::string::npos) << output();
    EXPECT_NE(proxy().deliver(), 0);
    relay->send(SIGTERM);
    expect_end(*relay, 0);
    drain();
    expect_exactly_once();
}

// A late abort is worse. The mark comes last, into the rest of the transaction, and would count
// aborted rows as sent. The broker must refuse the row: librdkafka would refuse it before anything
// was sent, and a transaction without records needs no end.
TEST_F(RelayLateEnd, ThatAbortsIsRefusedAsWell) {
    expect_end(*start({"reshard", "shards=1"}), 0);
    expect_end(*start_writer({"transactions=20", "rows=100", "huge=19"}), 0);
    auto kept = proxy().keep_next_end();
    const auto relay = start_relay(
        {"servers=" + proxied(),
         "batch=5000",
         "message_max=2000000",
         "purge=100000",
         "purge_after=3600000"},
        {"MORTISE_STOP_AT=kafka.before_last:1"}
    );
    ASSERT_EQ(kept.wait_for(30s), std::future_status::ready) << output();
    ASSERT_TRUE(relay->await_stop()) << output();
    EXPECT_TRUE(consumer().values(topic_).empty()) << "something was committed already";
    EXPECT_NE(proxy().deliver(), 0);
    relay->resume();
    EXPECT_TRUE(all_is_published()) << output();
    relay->send(SIGTERM);
    expect_end(*relay, 0);
    drain();
    expect_exactly_once();
    EXPECT_EQ(sql("SELECT count(*) FROM mortise_outbox_parked"), 1);
}

}  // namespace
}  // namespace mortise::test::relay_late_end_test
