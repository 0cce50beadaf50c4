// SPDX-License-Identifier: BSL-1.0
#include "flash_sale/delivery.hpp"

#include "flash_sale/departments.hpp"
#include "mortise/outbox/handler_sink.hpp"
#ifdef FLASH_SALE_WITH_KAFKA
#include "flash_sale/kafka_delivery.hpp"
#endif

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace flash_sale {
namespace {

namespace outbox = mortise::outbox;

using receivers = std::vector<std::shared_ptr<outbox::inbox>>;

constexpr std::chrono::milliseconds on_the_road{10};

// Each shard of the table is a stream: its messages come in the order of their rows.
outbox::message_handler hand_over(receivers to, std::uint32_t shard) {
    return [to = std::move(to),
            shard](const outbox::outgoing& sent) -> asio::awaitable<outbox::verdict> {
        asio::steady_timer road(co_await asio::this_coro::executor, on_the_road);
        co_await road.async_wait(asio::deferred);
        for (const auto& each : to) {
            std::vector<outbox::received> messages;
            auto stream = sent.message.topic + "-" + std::to_string(shard);
            messages.emplace_back(std::move(stream), sent.row, sent.message);
            auto arriving = each->async_receive(std::move(messages));
            co_await std::move(arriving);
        }
        co_return outbox::verdict::done();
    };
}

outbox::sink_factory sink_to(receivers to) {
    return [to = std::move(to)](const asio::any_io_executor& strand, std::uint32_t shard) {
        return outbox::make_handler_sink(hand_over(to, shard))(strand, shard);
    };
}

// Hands messages from one database to the other until each has had its effect.
asio::awaitable<void> deliver_locally(departments& between) {
    auto to_shippers = between.relay_of_shop(sink_to({between.orders}));
    auto to_shop = between.relay_of_shippers(sink_to({between.returns, between.refunds}));
    co_await to_shippers.async_drained();
    co_await to_shop.async_drained();  // last: each order that arrived is answered
    co_await to_shippers.async_stop();
    co_await to_shop.async_stop();
}

asio::awaitable<void> deliver(departments& between, const sale_options& options) {
    co_await between.open();
#ifdef FLASH_SALE_WITH_KAFKA
    if (!options.kafka.empty())
        co_await deliver_by_kafka(between, options.kafka);
#endif
    if (options.kafka.empty())
        co_await deliver_locally(between);
    co_await between.stop();
}

}  // namespace

int run_delivery(const sale_options& options) {
    asio::io_context context(1);
    departments between(context.get_executor(), options.folder, options.process);
    asio::co_spawn(context, deliver(between, options), [](const std::exception_ptr& e) {
        if (e)
            std::rethrow_exception(e);
    });
    context.run();
    return 0;
}

}  // namespace flash_sale
