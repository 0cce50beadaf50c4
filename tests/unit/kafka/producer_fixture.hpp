// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_KAFKA_PRODUCER_FIXTURE_HPP
#define MORTISE_TESTS_UNIT_KAFKA_PRODUCER_FIXTURE_HPP

#include "support/kafka_broker.hpp"
#include "support/kafka_reader.hpp"
#include "unit/kafka/kafka_user.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace mortise::test {

/// A topic and a producer at a broker.
class kafka_producer_fixture : public testing::Test {
protected:
    using kind = kafka::transaction_outcome::kind;
    using texts = std::vector<std::string>;

    explicit kafka_producer_fixture(kafka_broker& broker) : broker_(broker) {
        broker_.create_topic(topic_);
    }
    kafka_producer_fixture() : kafka_producer_fixture(shared_kafka()) {}

    kafka::kafka_config config() const {
        kafka::kafka_config config(broker_.address());
        config.settings = {
            {"reconnect.backoff.ms", "20"},
            {"reconnect.backoff.max.ms", "100"},
            {"linger.ms", "0"}};
        return config;
    }

    /// Ready. Of the same transactional id, so it fences the one before.
    std::unique_ptr<kafka_user> make_ready(const kafka::kafka_config& with) {
        auto user = std::make_unique<kafka_user>(with, id_);
        const error_code ec = user->init();
        EXPECT_FALSE(ec) << ec.message();
        return user;
    }
    std::unique_ptr<kafka_user> make_ready() { return make_ready(config()); }

    /// The values that consumers see in the end.
    texts seen() const { return kafka_reader(broker_.address()).settled_values(topic_); }

    kafka_broker& broker_;
    const std::string topic_ = fresh_name("topic");
    const std::string id_ = fresh_name("id");
};

}  // namespace mortise::test

#endif
