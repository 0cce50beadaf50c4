// SPDX-License-Identifier: BSL-1.0
// What makes two sinks different for a relay.
#include "sink/sink_records.hpp"

#include <gtest/gtest.h>

namespace mortise::test::kafka_sink_identity_test {
namespace {

TEST(KafkaSinkIdentity, NamesWhatMakesRelaysFenceEachOtherAndFindTheirMarks) {
    kafka::kafka_sink_config config;
    const auto identity = kafka::detail::sink_identity(config, "C");
    EXPECT_EQ(identity, "kafka:C/mortise.progress?progress_partitions=16&id_prefix=mortise");
    config.id_prefix = "other";
    EXPECT_NE(kafka::detail::sink_identity(config, "C"), identity);
    config = {};
    config.progress_partitions = 17;
    EXPECT_NE(kafka::detail::sink_identity(config, "C"), identity);
    config = {};
    config.progress_topic = "other";
    EXPECT_NE(kafka::detail::sink_identity(config, "C"), identity);
    EXPECT_NE(kafka::detail::sink_identity(kafka::kafka_sink_config(), "D"), identity);
}

TEST(KafkaSinkIdentity, KnowsTheNameOfOlderVersions) {
    EXPECT_EQ(
        kafka::detail::older_sink_identity(kafka::kafka_sink_config(), "C"),
        "kafka:C/mortise.progress"
    );
}

}  // namespace
}  // namespace mortise::test::kafka_sink_identity_test
