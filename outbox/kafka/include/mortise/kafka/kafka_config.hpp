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

/// Where a Kafka cluster is, and how it is spoken to. It is checked by what is made of it.
class kafka_config {
public:
    kafka_config() = default;  // declared: no aggregate (docs/compilers.md, G3)
    explicit kafka_config(std::string servers) : bootstrap_servers(std::move(servers)) {}

    /// Brokers to ask first: "host:port,host:port".
    std::string bootstrap_servers;

    /// Anything else, by librdkafka's own names: TLS, SASL, sizes. What would break exactly-once is
    /// refused (`acks=1`, `enable.idempotence=false`), and so is `transactional.id`, which belongs
    /// to the producer. Differing defaults of ours: `transaction.timeout.ms` 15,000,
    /// `message.timeout.ms` three quarters of that, `partitioner` as Java's, `murmur2_random`; and
    /// for consumers `queued.max.messages.kbytes` 32,768, which counts for all partitions together,
    /// `queued.min.messages` 50,000, and `fetch.max.bytes` 8 MiB, or `message.max.bytes` if that is
    /// more. Files with certificates and keys are read when something is first asked.
    std::map<std::string, std::string> settings;

    /// How long to try to reach the cluster, and to settle what the last producer of the same
    /// transactional id left: 100 ms to one hour.
    std::chrono::milliseconds init_wait_max{30'000};

    /// How long to ask how a commit, or an abort, went before that is `errc::uncertain`: 100 ms to
    /// one hour.
    std::chrono::milliseconds commit_wait_max{30'000};

    /// How long to wait for any other answer: 100 ms to one hour.
    std::chrono::milliseconds answer_wait_max{10'000};

    /// How long a topic may be missing, or unknown to the brokers, before its records are refused:
    /// 100 ms to one hour. Until then nothing else of the producer goes out. A topic that was
    /// missing for so long is not waited for again, until it was there once more.
    std::chrono::milliseconds topic_wait_max{5'000};

    /// Hears what librdkafka says. Not owned.
    kafka_observer* watch = nullptr;
};

/// Whether the setting of this name holds what nobody should read: no message of ours shows it, and
/// it has no place on a command line.
bool is_secret(std::string_view setting) noexcept;

}  // namespace mortise::kafka

#endif
