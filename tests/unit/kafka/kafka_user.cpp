// SPDX-License-Identifier: BSL-1.0
#include "unit/kafka/kafka_user.hpp"

#include <boost/system/system_error.hpp>

#include <utility>

namespace mortise::test {

void kafka_listener::on_event(const kafka::kafka_event& event) noexcept {
    const std::lock_guard hold(mutex_);
    text_ += std::string(event.text) + "\n";
    statistics_ += event.type == kafka::kafka_event::kind::statistics ? 1 : 0;
}

std::string kafka_listener::all() const {
    const std::lock_guard hold(mutex_);
    return text_;
}

std::size_t kafka_listener::statistics() const {
    const std::lock_guard hold(mutex_);
    return statistics_;
}

kafka_user::kafka_user(kafka::kafka_config config, const std::string& id)
    : producer_(std::make_unique<kafka::transactional_producer>(
          context_.get_executor(), std::move(config), id
      )) {}

kafka_user::~kafka_user() = default;

error_code kafka_user::init() {
    error_code ended;
    producer_->async_init([&](error_code ec) { ended = ec; });
    context_.restart();
    context_.run();
    return ended;
}

kafka::transaction_outcome kafka_user::run(kafka::transaction_batch batch) {
    start(std::move(batch));
    return finish();
}

void kafka_user::start(kafka::transaction_batch batch) {
    outcome_.reset();
    producer_->async_transaction(
        std::move(batch),
        [this](error_code ec, kafka::transaction_outcome outcome) {
            if (ec)
                outcome.code = ec;
            outcome_ = std::move(outcome);
        }
    );
}

kafka::transaction_outcome kafka_user::finish() {
    context_.restart();
    context_.run();
    if (!outcome_)
        throw std::logic_error("no transaction was under way");
    return std::move(*outcome_);
}

error_code kafka_user::stop() {
    error_code ended;
    producer_->async_stop([&](error_code ec) { ended = ec; });
    context_.restart();
    context_.run();
    return ended;
}

kafka::transaction_batch
batch_of(const std::string& topic, const std::vector<std::string>& values) {
    kafka::transaction_batch batch;
    for (const std::string& value : values)
        batch.records.emplace_back(topic, std::nullopt, value);
    return batch;
}

}  // namespace mortise::test
