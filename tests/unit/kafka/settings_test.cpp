// SPDX-License-Identifier: BSL-1.0
// What a configuration is refused for, and that no secret is shown.
#include "settings.hpp"
#include "unit/kafka/kafka_user.hpp"

#include <gtest/gtest.h>

namespace mortise::test::kafka_settings_test {
namespace {

using kafka::kafka_config;

/// Returns the producer's refusal of the configuration.
std::string refusal(const kafka_config& config, const std::string& id = "id") {
    try {
        const kafka_user producer(config, id);
        return "";
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::bad_config);
        return e.what();
    }
}

std::string refusal(const std::string& name, const std::string& value) {
    kafka_config config("127.0.0.1:1");
    config.settings[name] = value;
    return refusal(config);
}

TEST(KafkaSettings, GoToLibrdkafkaByTheirOwnNames) {
    EXPECT_EQ(refusal("compression.codec", "lz4"), "");
    EXPECT_EQ(refusal("acks", "all"), "");
    EXPECT_EQ(refusal("acks", "-1"), "");
    EXPECT_EQ(refusal("enable.idempotence", "true"), "");
    EXPECT_EQ(refusal("partitioner", "murmur2_random"), "");
}

TEST(KafkaSettings, AreRefusedWithTheirNameAndARemedy) {
    const std::vector<std::array<std::string, 3>> table = {
        {"no.such.setting", "1", "no setting of that name"},
        {"compression.codec", "zip", "librdkafka says"},
        {"message.max.bytes", "-5", "librdkafka says"},
        {"enable.idempotence", "false", "exactly-once"},
        {"acks", "1", "exactly-once"},
        {"request.required.acks", "0", "exactly-once"},
        {"queuing.strategy", "lifo", "exactly-once"},
        {"log.connection.close", "false", "exactly-once"},
        {"transactional.id", "mine", "leave it out"},
        {"bootstrap.servers", "a:1", "bootstrap_servers"},
        {"metadata.broker.list", "a:1", "bootstrap_servers"},
        {"isolation.level", "read_uncommitted", "leave it out"},
        {"delivery.report.only.error", "true", "leave it out"},
        {"message.timeout.ms", "20000", "transaction.timeout.ms"},
        {"delivery.timeout.ms", "20000", "transaction.timeout.ms"},
        {"message.timeout.ms", "0", "above zero"},
        {"transaction.timeout.ms", "soon", "milliseconds"},
        {"max.in.flight", "6", "max.in.flight"},
    };
    for (const auto& [name, value, remedy] : table) {
        const std::string message = refusal(name, value);
        EXPECT_NE(message.find(remedy), std::string::npos)
            << name << " " << value << ": " << message;
    }
}

TEST(KafkaSettings, TimesAndAddressesAreChecked) {
    kafka_config config;
    EXPECT_NE(refusal(config).find("bootstrap_servers"), std::string::npos);
    config.bootstrap_servers = "127.0.0.1:1";
    EXPECT_EQ(refusal(config), "");
    config.commit_wait_max = std::chrono::milliseconds(1);
    EXPECT_NE(refusal(config).find("commit_wait_max"), std::string::npos);
    config = kafka_config("127.0.0.1:1");
    EXPECT_NE(refusal(config, "").find("transactional_id"), std::string::npos);
    EXPECT_NE(refusal(config, std::string(250, 'x')).find("transactional_id"), std::string::npos);
}

TEST(KafkaSettings, DeliveriesEndBeforeTheirTransaction) {
    using std::chrono::milliseconds;
    kafka_config config("127.0.0.1:1");
    EXPECT_EQ(kafka::detail::delivery_time(config), milliseconds(11'250));
    config.settings["transaction.timeout.ms"] = "60000";
    EXPECT_EQ(kafka::detail::delivery_time(config), milliseconds(45'000));
    config.settings["delivery.timeout.ms"] = "1000";
    EXPECT_EQ(kafka::detail::delivery_time(config), milliseconds(1'000));
}

std::string value_of(const kafka_config& config, const char* name) {
    const auto conf =
        kafka::detail::make_settings(config, kafka::detail::purpose::consuming, "group");
    char text[256];
    std::size_t size = sizeof text;
    EXPECT_EQ(::rd_kafka_conf_get(conf.get(), name, text, &size), RD_KAFKA_CONF_OK);
    return text;
}

TEST(KafkaSettings, WhatAConsumerFetchesAheadIsBounded) {
    kafka_config config("127.0.0.1:1");
    EXPECT_EQ(value_of(config, "queued.max.messages.kbytes"), "32768");
    EXPECT_EQ(value_of(config, "fetch.max.bytes"), "8388608");
    EXPECT_EQ(value_of(config, "queued.min.messages"), "50000");
    config.settings = {
        {"queued.max.messages.kbytes", "1000"},
        {"fetch.max.bytes", "2000000"},
        {"queued.min.messages", "7"}};
    EXPECT_EQ(value_of(config, "queued.max.messages.kbytes"), "1000");
    EXPECT_EQ(value_of(config, "fetch.max.bytes"), "2000000");
    EXPECT_EQ(value_of(config, "queued.min.messages"), "7");
    config.settings = {{"message.max.bytes", "20000000"}};
    EXPECT_EQ(value_of(config, "fetch.max.bytes"), "20000000");
}

TEST(KafkaSettings, SecretsAreNeverShown) {
    EXPECT_EQ(refusal("ssl.key.password", "tell-nobody").find("tell-nobody"), std::string::npos);
    kafka_config bad_key("127.0.0.1:1");
    bad_key.settings = {{"security.protocol", "ssl"}, {"ssl.key.pem", "tell-nobody"}};
    std::string pem = refusal(bad_key);
    if (pem.empty()) {
        // A key is looked at when it is used first, by the thread of the producer.
        kafka_user producer(bad_key, "id");
        EXPECT_EQ(producer.init(), errc::bad_config);
        pem = producer.producer().trouble();
    }
    EXPECT_NE(pem, "");
    EXPECT_EQ(pem.find("tell-nobody"), std::string::npos) << pem;

    const kafka::detail::secrets hidden({
        {"sasl.password", "abc"},
        {"ssl.keystore.password", "abcdef"},
        {"sasl.username", "user"},
        {"sasl.oauthbearer.client.secret", ""},
    });
    EXPECT_EQ(hidden.hide_in("user abcdef abc abcabc"), "user *** *** ******");
}

}  // namespace
}  // namespace mortise::test::kafka_settings_test
