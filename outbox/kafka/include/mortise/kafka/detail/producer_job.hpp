// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_DETAIL_PRODUCER_JOB_HPP
#define MORTISE_KAFKA_DETAIL_PRODUCER_JOB_HPP

#include "mortise/kafka/transaction_outcome.hpp"

#include <memory>
#include <utility>

namespace mortise::kafka::detail {

class producer_core;

/// The jobs of a producer's thread. Each job keeps alive what it needs.
class init_job {
public:
    explicit init_job(std::shared_ptr<producer_core> core) : core_(std::move(core)) {}
    void operator()();

private:
    std::shared_ptr<producer_core> core_;
};

class transaction_job {
public:
    transaction_job(std::shared_ptr<producer_core> core, transaction_batch batch)
        : core_(std::move(core)), batch_(std::move(batch)) {}
    transaction_outcome operator()();

private:
    std::shared_ptr<producer_core> core_;
    transaction_batch batch_;
};

class close_job {
public:
    explicit close_job(std::shared_ptr<producer_core> core) : core_(std::move(core)) {}
    void operator()();

private:
    std::shared_ptr<producer_core> core_;
};

}  // namespace mortise::kafka::detail

#endif
