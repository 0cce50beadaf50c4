// SPDX-License-Identifier: BSL-1.0
// How a consumer, and a processor, ends: stopped, cancelled at each step, destroyed, or with its
// context.
#include "mortise/kafka/inbox_consumer.hpp"
#include "mortise/kafka/processor.hpp"
#include "mortise/outbox/inbox.hpp"
#include "support/cancel_sweep.hpp"
#include "support/kafka_broker.hpp"
#include "support/machine_delay.hpp"
#include "support/print.hpp"
#include "unit/db/db_world.hpp"
#include "unit/kafka/inbox_party.hpp"

#include <boost/asio/error.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test::kafka_inbox_consumer_end_test {
namespace {

using namespace std::chrono_literals;

/// A consumer of a cluster that is not there, beside an inbox.
class lonely_consumer {
public:
    explicit lonely_consumer(db_world& world)
        : lonely_consumer(world, kafka::kafka_config("127.0.0.1:1"), "topic") {}
    lonely_consumer(db_world& world, kafka::kafka_config cluster, const std::string& topic)
        : session_(std::make_shared<db::sqlite>(world.open())) {
        outbox::inbox_config how;
        how.handler = [](db::connection&, const outbox::received&) {
            return outbox::answer::done();
        };
        const auto executor = world.context.get_executor();
        inbox_ = std::make_shared<outbox::inbox>(executor, session_, std::move(how));
        consumer.emplace(
            executor, inbox_, kafka::inbox_consumer_config(std::move(cluster), "group", {topic})
        );
    }

private:
    std::shared_ptr<db::sqlite> session_;
    std::shared_ptr<outbox::inbox> inbox_;

public:
    std::optional<kafka::inbox_consumer> consumer;
};

class stopping final : public sweep_case {
public:
    explicit stopping(db_world& world) : subject_(world) {}

    asio::awaitable<void> operation() override {
        auto ending = subject_.consumer->async_stop();
        co_await std::move(ending);
        stopped_ = true;
    }
    void check(const co_world::outcome& outcome) override {
        // A signal that comes before it begins lets nothing begin; a later one changes nothing.
        const auto code = outcome.code();
        EXPECT_TRUE(stopped_ || code == asio::error::operation_aborted) << code.message();
        subject_.consumer.reset();
    }

private:
    lonely_consumer subject_;
    bool stopped_ = false;
};

class stopping_processor final : public sweep_case {
public:
    explicit stopping_processor(db_world& world) {
        kafka::processor_config how(kafka::kafka_config("127.0.0.1:1"), "group", {"topic"});
        how.transactional_id = "id";
        how.handler = [](const kafka::consumed_record&) -> asio::awaitable<records> {
            co_return records();
        };
        subject_.emplace(world.context.get_executor(), how);
    }

    asio::awaitable<void> operation() override {
        auto ending = subject_->async_stop();
        co_await std::move(ending);
        stopped_ = true;
    }
    void check(const co_world::outcome& outcome) override {
        const auto code = outcome.code();
        EXPECT_TRUE(stopped_ || code == asio::error::operation_aborted) << code.message();
        subject_.reset();
    }

private:
    using records = std::vector<kafka::record>;
    std::optional<kafka::processor> subject_;
    bool stopped_ = false;
};

class KafkaInboxEnd : public testing::TestWithParam<asio::cancellation_type> {};

INSTANTIATE_TEST_SUITE_P(Types, KafkaInboxEnd, testing::ValuesIn(cancellation_types), param_name());

TEST_P(KafkaInboxEnd, AStopIsNotCancelled) {
    const auto make = [](db_world& world) { return std::make_unique<stopping>(world); };
    EXPECT_GT(cancel_sweep<db_world>("the stop of a consumer", GetParam(), make), 1u);
}

TEST_P(KafkaInboxEnd, TheStopOfAProcessorIsNotCancelledEither) {
    const auto make = [](db_world& world) { return std::make_unique<stopping_processor>(world); };
    EXPECT_GT(cancel_sweep<db_world>("the stop of a processor", GetParam(), make), 1u);
}

TEST(KafkaInboxEndOnce, MayBeDestroyedAndEndWithItsContextAtAnyTime) {
    for (int handlers = 0; handlers < 8; ++handlers) {
        auto world = std::make_unique<db_world>();
        lonely_consumer subject(*world);
        world->step_while([left = handlers]() mutable { return left-- > 0; });
        if (handlers % 2 == 0)
            subject.consumer.reset();
        const machine_delay delay;
        const clock::time_point begin = clock::now();
        world.reset();
        EXPECT_LT(clock::now() - begin, 2s + delay.so_far()) << handlers;
    }
}

TEST(KafkaInboxEndOnce, KeepsNoContextAtWork) {
    db_world world;
    lonely_consumer subject(world);
    const machine_delay delay;
    const clock::time_point begin = clock::now();
    world.settle();
    EXPECT_LT(clock::now() - begin, 2s + delay.so_far());
    error_code stopped = asio::error::would_block;
    subject.consumer->async_stop([&](error_code ec) { stopped = ec; });
    world.settle();
    EXPECT_FALSE(stopped) << stopped.message();
}

}  // namespace
}  // namespace mortise::test::kafka_inbox_consumer_end_test
