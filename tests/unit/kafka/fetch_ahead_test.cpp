// SPDX-License-Identifier: BSL-1.0
// What a consumer fetches before anybody asks for it is bounded, however many partitions it has.
#include "consumer/consumer_core.hpp"
#include "support/eventually.hpp"
#include "support/kafka_broker.hpp"
#include "unit/kafka/kafka_user.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::test::kafka_fetch_ahead_test {
namespace {

/// How many bytes of records a handle has been given by its brokers.
class byte_counter final : public kafka::kafka_observer {
public:
    void on_event(const kafka::kafka_event& event) noexcept override {
        if (event.type != kafka::kafka_event::kind::statistics)
            return;
        constexpr std::string_view name = "\"rxmsg_bytes\":";
        const auto found = event.text.find(name);
        if (found == std::string_view::npos)
            return;
        const std::string_view number = event.text.substr(found + name.size());
        std::int64_t bytes = 0;
        std::from_chars(number.data(), number.data() + number.size(), bytes);
        fetched_ = bytes;
        ++reports_;
    }
    std::int64_t fetched() const { return fetched_; }
    int reports() const { return reports_; }

private:
    std::atomic<std::int64_t> fetched_{0};
    std::atomic<int> reports_{0};
};

constexpr int partitions = 24;
constexpr std::size_t record_bytes = 64u << 10;
constexpr int records_each = 16;  // 1 MiB

void fill(const std::string& topic) {
    const raw_kafka by = open_raw_producer(shared_kafka().address());
    const std::string value(record_bytes, 'x');
    for (int part = 0; part < partitions; ++part)
        for (int i = 0; i < records_each; ++i)
            check_raw_kafka(::rd_kafka_producev(
                by.get(),
                RD_KAFKA_V_TOPIC(topic.c_str()),
                RD_KAFKA_V_PARTITION(part),
                RD_KAFKA_V_VALUE(const_cast<char*>(value.data()), value.size()),
                RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                RD_KAFKA_V_END
            ));
    check_raw_kafka(::rd_kafka_flush(by.get(), 60'000));
}

TEST(KafkaFetchAhead, IsBoundedForAllPartitionsTogether) {
    constexpr std::int64_t queue_bytes = 2 << 20;
    constexpr std::int64_t answer_bytes = 1 << 20;
    const std::string topic = fresh_name("topic");
    shared_kafka().create_topic(topic, partitions);
    fill(topic);
    byte_counter counter;
    kafka::kafka_config config(shared_kafka().address());
    config.watch = &counter;
    config.settings = {
        {"statistics.interval.ms", "50"},
        {"fetch.wait.max.ms", "50"},
        {"heartbeat.interval.ms", "100"},
        {"queued.max.messages.kbytes", std::to_string(queue_bytes >> 10)},
        {"fetch.max.bytes", std::to_string(answer_bytes)}};
    kafka::detail::consumer_core member(config, fresh_name("group"), {topic});
    std::vector<kafka::detail::start_offset> wanted;
    while (wanted.empty()) {
        for (const auto& change : member.turn(0, 0).changes)
            for (const auto& each : change.partitions)
                wanted.emplace_back(each, 0);
    }
    ASSERT_EQ(wanted.size(), static_cast<std::size_t>(partitions));
    member.take(std::move(wanted), false, false);
    // Nobody asks for a record. It is over when nothing more has come for a while.
    std::int64_t before = -1;
    int still = 0;
    while (still < 4) {
        const int reports = counter.reports();
        while (counter.reports() == reports)
            member.turn(0, 0);
        still = counter.fetched() == before ? still + 1 : 0;
        before = counter.fetched();
    }
    EXPECT_GE(before, queue_bytes);
    EXPECT_LE(before, queue_bytes + 3 * answer_bytes);
    // And all of it comes to who asks.
    std::size_t received = 0;
    EXPECT_TRUE(eventually([&] {
        received += member.turn(100, 1 << 20).records.size();
        return received >= std::size_t{partitions} * records_each;
    })) << received;
    EXPECT_EQ(received, std::size_t{partitions} * records_each);
    member.close();
}

}  // namespace
}  // namespace mortise::test::kafka_fetch_ahead_test
