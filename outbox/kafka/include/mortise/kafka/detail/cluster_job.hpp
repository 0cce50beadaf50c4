// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_DETAIL_CLUSTER_JOB_HPP
#define MORTISE_KAFKA_DETAIL_CLUSTER_JOB_HPP

#include "mortise/kafka/found_record.hpp"
#include "mortise/kafka/topic_wish.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace mortise::kafka::detail {

class cluster_core;

/// The jobs of a cluster's thread. Each job keeps alive what it needs.
class id_job {
public:
    explicit id_job(std::shared_ptr<cluster_core> core) : core_(std::move(core)) {}
    std::string operator()();

private:
    std::shared_ptr<cluster_core> core_;
};

class topic_job {
public:
    topic_job(std::shared_ptr<cluster_core> core, topic_wish topic)
        : core_(std::move(core)), wish_(std::move(topic)) {}
    bool operator()();

private:
    std::shared_ptr<cluster_core> core_;
    topic_wish wish_;
};

class partitions_job {
public:
    partitions_job(std::shared_ptr<cluster_core> core, std::string topic)
        : core_(std::move(core)), topic_(std::move(topic)) {}
    int operator()();

private:
    std::shared_ptr<cluster_core> core_;
    std::string topic_;
};

class last_record_job {
public:
    last_record_job(
        std::shared_ptr<cluster_core> core,
        std::string topic,
        std::int32_t partition,
        std::string key,
        std::int64_t from
    )
        : core_(std::move(core)),
          topic_(std::move(topic)),
          partition_(partition),
          key_(std::move(key)),
          from_(from) {}
    std::optional<found_record> operator()();

private:
    std::shared_ptr<cluster_core> core_;
    std::string topic_;
    std::int32_t partition_;
    std::string key_;
    std::int64_t from_;
};

}  // namespace mortise::kafka::detail

#endif
