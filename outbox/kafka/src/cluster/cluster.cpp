// SPDX-License-Identifier: BSL-1.0
#include "mortise/kafka/cluster.hpp"

#include "cluster/cluster_core.hpp"

#include <chrono>

namespace mortise::kafka {

namespace detail {

std::string id_job::operator()() {
    return core_->id();
}

bool topic_job::operator()() {
    return core_->ensure(wish_);
}

int partitions_job::operator()() {
    return core_->partitions_of(topic_);
}

std::optional<found_record> last_record_job::operator()() {
    return core_->last_record(topic_, partition_, key_, from_);
}

}  // namespace detail

namespace {

coro::worker_config worker_settings() {
    coro::worker_config config;
    config.name = "mortise-kafka";
    config.grace = std::chrono::milliseconds::zero();  // The running job owns all that it needs.
    return config;
}

}  // namespace

cluster::cluster(executor_type executor, kafka_config config)
    : core_(std::make_shared<detail::cluster_core>(std::move(config))),
      worker_(std::make_unique<coro::worker>(std::move(executor), worker_settings())) {}

cluster::~cluster() {
    core_->says().silence();
    core_->request_stop();
}

std::string cluster::trouble() const {
    return core_->says().trouble();
}

void cluster::stop() noexcept {
    core_->request_stop();
}

}  // namespace mortise::kafka
