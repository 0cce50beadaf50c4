// SPDX-License-Identifier: BSL-1.0
#include "flash_sale/kafka_delivery.hpp"

#include "mortise/kafka/cluster.hpp"
#include "mortise/kafka/inbox_consumer.hpp"
#include "mortise/kafka/inbox_consumer_config.hpp"
#include "mortise/kafka/kafka_sink.hpp"
#include "mortise/kafka/topic_wish.hpp"

#include <memory>
#include <utility>

namespace flash_sale {
namespace {

namespace kafka = mortise::kafka;
namespace outbox = mortise::outbox;

// One consumer group for each inbox: both inboxes for refusals then receive all of them.
kafka::inbox_consumer consumer_of(
    std::shared_ptr<outbox::inbox> inbox,
    const char* name,
    const char* topic,
    const std::string& servers
) {
    kafka::inbox_consumer_config config(kafka::kafka_config(servers), name, {topic});
    config.cluster.settings["session.timeout.ms"] = "1000";  // how long a dead one is missed
    const auto executor = inbox->get_executor();
    return {executor, std::move(inbox), config};
}

outbox::sink_factory sink_at(const std::string& servers) {
    return kafka::make_kafka_sink(kafka::kafka_sink_config(kafka::kafka_config(servers)));
}

}  // namespace

asio::awaitable<void> deliver_by_kafka(departments& between, std::string servers) {
    kafka::cluster brokers(between.orders->get_executor(), kafka::kafka_config(servers));
    for (const char* name : {"orders", "refusals"}) {
        kafka::topic_wish wish(name, 2);
        auto making = brokers.async_ensure_topic(std::move(wish));
        co_await std::move(making);
    }
    auto to_shippers = between.relay_of_shop(sink_at(servers));
    auto to_shop = between.relay_of_shippers(sink_at(servers));
    auto orders = consumer_of(between.orders, "shippers", "orders", servers);
    auto returns = consumer_of(between.returns, "goods", "refusals", servers);
    auto refunds = consumer_of(between.refunds, "wallets", "refusals", servers);
    co_await between.settled();
    co_await orders.async_stop();
    co_await returns.async_stop();
    co_await refunds.async_stop();
    co_await to_shippers.async_stop();
    co_await to_shop.async_stop();
}

}  // namespace flash_sale
