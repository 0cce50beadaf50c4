// SPDX-License-Identifier: BSL-1.0
#include "mortise/kafka/transactional_producer.hpp"

#include "mortise/error.hpp"
#include "producer/producer_core.hpp"

#include <atomic>
#include <chrono>

namespace mortise::kafka {

namespace detail {

void init_job::operator()() {
    core_->init();
}

transaction_outcome transaction_job::operator()() {
    return core_->run(batch_);
}

void close_job::operator()() {
    core_->close();
}

}  // namespace detail

namespace {

// The destructor does not wait: the running work owns all that it needs, and was told to stop.
coro::worker_config worker_settings() {
    coro::worker_config config;
    config.name = "mortise-kafka";
    config.grace = std::chrono::milliseconds::zero();
    return config;
}

void check_id(const std::string& id) {
    if (id.empty() || id.size() > 249)
        detail::refuse_setting("transactional_id", "give the producer an id of 1 to 249 bytes");
}

}  // namespace

transactional_producer::transactional_producer(
    executor_type executor, kafka_config config, const std::string& transactional_id
)
    : core_(
          (check_id(transactional_id),
           std::make_shared<detail::producer_core>(std::move(config), transactional_id))
      ),
      worker_(std::make_shared<coro::worker>(std::move(executor), worker_settings())) {
    // Errors and statistics must be polled for, even while no operation runs.
    const std::weak_ptr<detail::producer_core> core = core_;
    const std::weak_ptr<coro::worker> worker = worker_;
    const auto planned = std::make_shared<std::atomic<bool>>(false);
    core_->says().on_waiting([core, worker, planned] {
        const auto runs = worker.lock();
        if (!runs || planned->exchange(true))
            return;
        const bool posted = runs->post([core, planned] {
            *planned = false;
            if (const auto alive = core.lock())
                alive->serve();
        });
        if (!posted)
            *planned = false;
    });
}

transactional_producer::~transactional_producer() {
    core_->says().silence();
    core_->request_stop();
}

std::string transactional_producer::trouble() const {
    return core_->says().trouble();
}

void transactional_producer::stop() noexcept {
    core_->request_stop();
}

}  // namespace mortise::kafka
