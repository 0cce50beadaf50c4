// SPDX-License-Identifier: BSL-1.0
// What a consumer makes of changes of its group that come close together, at a real broker. When
// they come is up to the test.
#include "consumer/group_consumer.hpp"
#include "mortise/kafka/error.hpp"
#include "support/eventually.hpp"
#include "support/kafka_broker.hpp"
#include "support/raw_kafka.hpp"
#include "unit/outbox/outbox_site.hpp"

#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test::kafka_group_consumer_test {
namespace {

using namespace std::chrono_literals;
using texts = std::vector<std::string>;

/// Waits where the test wants it to, and fails when the test wants it to.
class patient final : public kafka::detail::group_consumer {
public:
    patient(const asio::any_io_executor& executor, kafka::consumer_config config)
        : group_consumer(executor, std::move(config), 0ms) {}

    std::atomic<bool> finding_waits = false;
    std::atomic<bool> working_waits = false;
    std::atomic<int> finds = 0;

    /// Loses the present work.
    void lose() {
        asio::post(strand(), [this, self = shared_from_this()] {
            work_lost(kafka::errc::lost, "the test");
        });
    }
    texts values() const {
        const std::lock_guard hold(mutex_);
        return values_;
    }
    std::ptrdiff_t count(const std::string& value) const {
        const texts all = values();
        return std::count(all.begin(), all.end(), value);
    }

private:
    asio::awaitable<error_code>
    find(std::vector<kafka::detail::start_offset>&, std::string&) override {
        ++finds;
        while (finding_waits) {
            auto resting = pause(5ms, true);
            co_await std::move(resting);
        }
        co_return error_code();
    }
    void work(const records& batch) override {
        {
            const std::lock_guard hold(mutex_);
            for (const kafka::consumed_record& each : batch)
                values_.push_back(each.value.value());
        }
        if (!working_waits)
            asio::post(strand(), [this, self = shared_from_this()] { worked(); });
    }
    bool is_final(error_code) const override { return false; }

    mutable std::mutex mutex_;
    texts values_;
};

void produce(const std::string& topic, const std::string& value) {
    const raw_kafka by = open_raw_producer(shared_kafka().address());
    raw_kafka_produce(by, topic, 0, "key", value);
}

// With the cooperative protocol a partition that is given beside others is read beside them.
TEST(KafkaGroup, APartitionThatComesWhileAllIsToBeReadAnewIsReadAfterwards) {
    const std::string first = fresh_name("topic");
    const std::string second = fresh_name("topic");
    shared_kafka().create_topic(first);
    kafka::consumer_config config(
        kafka::kafka_config(shared_kafka().address()), fresh_name("group"), {first, second}
    );
    config.cluster.settings = {
        {"partition.assignment.strategy", "cooperative-sticky"},
        {"topic.metadata.refresh.interval.ms", "100"},
        {"heartbeat.interval.ms", "100"},
        {"fetch.wait.max.ms", "50"}};
    config.retry_first = 1ms;
    config.retry_max = 20ms;
    outbox_site site;
    const auto consumer = std::make_shared<patient>(site.executor(), config);
    consumer->working_waits = true;
    consumer->attach();
    produce(first, "a");
    ASSERT_TRUE(eventually([&] { return consumer->count("a") == 1; }, 20s));

    // Another partition is being taken when what was read before is found to be lost.
    consumer->finding_waits = true;
    shared_kafka().create_topic(second);
    EXPECT_TRUE(eventually([&] { return consumer->finds == 2; }, 20s));
    consumer->working_waits = false;
    consumer->lose();
    asio::post(site.executor(), [consumer] { consumer->finding_waits = false; });

    EXPECT_TRUE(eventually([&] { return consumer->count("a") == 2; }));
    produce(second, "b");
    EXPECT_TRUE(eventually([&] { return consumer->count("b") == 1; }))
        << testing::PrintToString(consumer->values());
    produce(first, "c");
    EXPECT_TRUE(eventually([&] { return consumer->count("c") == 1; }));
    consumer->close();
}

}  // namespace
}  // namespace mortise::test::kafka_group_consumer_test
