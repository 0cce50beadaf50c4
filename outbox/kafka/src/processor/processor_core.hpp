// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_PROCESSOR_PROCESSOR_CORE_HPP
#define MORTISE_KAFKA_SRC_PROCESSOR_PROCESSOR_CORE_HPP

#include "consumer/group_consumer.hpp"
#include "mortise/kafka/processor_config.hpp"
#include "mortise/kafka/transactional_producer.hpp"
#include "processor/made_batch.hpp"

#include <memory>
#include <string>
#include <vector>

namespace mortise::kafka::detail {

/// A consumer that calls a handler and commits the results in a transaction.
class processor_core final : public group_consumer {
public:
    processor_core(asio::any_io_executor executor, const processor_config& config);

private:
    asio::awaitable<error_code> find(std::vector<start_offset>& starts, std::string& why) override;
    void work(const records& batch) override;
    bool is_final(error_code code) const override;
    asio::awaitable<void> finish() override;

    asio::awaitable<error_code> prepare(std::string& why);
    asio::awaitable<void> process(const records& batch);
    asio::awaitable<bool> make_all(const records& batch, made_batch& into);
    asio::awaitable<bool> make(const consumed_record& source, made_batch& into);
    asio::awaitable<error_code>
    try_once(const consumed_record& source, std::vector<record>& into, std::string& why);
    asio::awaitable<transaction_outcome> commit(const made_batch& products);
    void conclude(const transaction_outcome& outcome, const made_batch& products);

    const processor_config config_;
    std::unique_ptr<transactional_producer> producer_;  ///< Ready, if there is one.
    bool wary_ = false;  ///< The last producer was lost over an unknown topic.
};

}  // namespace mortise::kafka::detail

#endif
