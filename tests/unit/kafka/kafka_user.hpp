// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_KAFKA_KAFKA_USER_HPP
#define MORTISE_TESTS_UNIT_KAFKA_KAFKA_USER_HPP

#include "mortise/kafka/kafka_observer.hpp"
#include "mortise/kafka/transactional_producer.hpp"

#include <boost/asio/io_context.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mortise::test {

/// Keeps what librdkafka says.
class kafka_listener final : public kafka::kafka_observer {
public:
    void on_event(const kafka::kafka_event& event) noexcept override;

    std::string all() const;
    std::size_t statistics() const;

private:
    mutable std::mutex mutex_;
    std::string text_;
    std::size_t statistics_ = 0;
};

/// A transactional producer, and the context that it completes in.
class kafka_user {
public:
    kafka_user(kafka::kafka_config config, const std::string& id);
    ~kafka_user();
    kafka_user(const kafka_user&) = delete;
    kafka_user& operator=(const kafka_user&) = delete;

    error_code init();
    kafka::transaction_outcome run(kafka::transaction_batch batch);
    error_code stop();

    void start(kafka::transaction_batch batch);
    kafka::transaction_outcome finish();

    kafka::transactional_producer& producer() { return *producer_; }
    /// Like going out of scope: does not wait for work under way.
    void destroy() { producer_.reset(); }

private:
    asio::io_context context_;
    std::unique_ptr<kafka::transactional_producer> producer_;
    std::optional<kafka::transaction_outcome> outcome_;
};

/// Records of one topic without keys.
kafka::transaction_batch batch_of(const std::string& topic, const std::vector<std::string>& values);

}  // namespace mortise::test

#endif
