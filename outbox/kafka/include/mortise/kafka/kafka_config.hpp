// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_KAFKA_CONFIG_HPP
#define MORTISE_KAFKA_KAFKA_CONFIG_HPP

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::kafka {

class kafka_observer;

/// How to reach a Kafka cluster. The object that is made from it checks it.
class kafka_config {
public:
    kafka_config() = default;  // declared: no aggregate (docs/compilers.md, G3)
    explicit kafka_config(std::string servers) : bootstrap_servers(std::move(servers)) {}

    /// The brokers to ask first: "host:port,host:port".
    std::string bootstrap_servers;

    /// Other settings, by librdkafka's own names: TLS, SASL, sizes. Settings that would break
    /// exactly-once are refused (`acks=1`, `enable.idempotence=false`), and so is
    /// `transactional.id`, which belongs to the producer. Files with certificates and keys are read
    /// at the first request.
    ///
    /// These defaults differ from librdkafka's: `transaction.timeout.ms` 15,000,
    /// `message.timeout.ms` three quarters of that, and `partitioner` as Java's, `murmur2_random`.
    /// For consumers: `queued.max.messages.kbytes` 32,768, which counts for all partitions
    /// together, `queued.min.messages` 50,000, and `fetch.max.bytes` 8 MiB, or `message.max.bytes`
    /// if that is more.
    std::map<std::string, std::string> settings;

    /// How long to try to reach the cluster, and to settle the last transaction of an earlier
    /// producer with the same transactional id: 100 ms to one hour.
    std::chrono::milliseconds init_wait_max{30'000};

    /// How long to ask for the result of a commit or an abort before it counts as
    /// `errc::uncertain`: 100 ms to one hour.
    std::chrono::milliseconds commit_wait_max{30'000};

    /// How long to wait for any other answer: 100 ms to one hour.
    std::chrono::milliseconds answer_wait_max{10'000};

    /// How long to wait for a topic that is missing, or unknown to the brokers, before its records
    /// are refused: 100 ms to one hour. The producer sends nothing else meanwhile. After such a
    /// refusal the topic is not waited for again until it has existed once more.
    std::chrono::milliseconds topic_wait_max{5'000};

    /// Receives the messages of librdkafka. Not owned.
    kafka_observer* watch = nullptr;
};

/// Whether the setting of this name holds a secret. No message of ours shows it, and it must not be
/// given on a command line.
bool is_secret(std::string_view setting) noexcept;

}  // namespace mortise::kafka

#endif
