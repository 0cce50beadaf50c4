// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_FEED_INBOX_CONSUMER_CORE_HPP
#define MORTISE_KAFKA_SRC_FEED_INBOX_CONSUMER_CORE_HPP

#include "consumer/group_consumer.hpp"
#include "mortise/kafka/inbox_consumer_config.hpp"
#include "mortise/outbox/inbox.hpp"

#include <memory>
#include <string>
#include <vector>

namespace mortise::kafka::detail {

/// A consumer that delivers to an inbox.
class inbox_consumer_core final : public group_consumer {
public:
    inbox_consumer_core(
        asio::any_io_executor executor,
        std::shared_ptr<outbox::inbox> to,
        const inbox_consumer_config& config
    );

private:
    asio::awaitable<error_code> find(std::vector<start_offset>& starts, std::string& why) override;
    void work(const records& batch) override;
    bool is_final(error_code code) const override;
    asio::awaitable<error_code> ask_group(std::vector<start_offset>& starts);

    const std::shared_ptr<outbox::inbox> inbox_;
    const bool adopt_group_;
    const std::string id_header_;
};

}  // namespace mortise::kafka::detail

#endif
