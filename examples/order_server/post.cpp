// SPDX-License-Identifier: BSL-1.0
#include "order_server/post.hpp"

#include "mortise/outbox/handler_sink.hpp"
#include "order_server/order.hpp"
#include "order_server/shipping.hpp"
#include "order_server/stock.hpp"
#include "order_server/wallets.hpp"

#include <string_view>
#include <utility>
#include <vector>

namespace order_server {
namespace {

namespace outbox = mortise::outbox;

using session_ptr = databases::session_ptr;
using inbox_ptr = std::shared_ptr<outbox::inbox>;
using locks_ptr = std::shared_ptr<mortise::lock_client>;

inbox_ptr inbox_of(const session_ptr& whose, outbox::inbox_handler handler) {
    outbox::inbox_config config;
    config.by = outbox::inbox_config::kind::ids;
    config.handler = std::move(handler);
    return std::make_shared<outbox::inbox>(whose->get_executor(), whose, std::move(config));
}

outbox::relay relay_of(const session_ptr& whose, outbox::message_handler to, locks_ptr locks) {
    outbox::relay_config config;
    config.database = whose->path();
    config.locks = std::move(locks);
    config.sink = outbox::make_handler_sink(std::move(to));
    return {whose->get_executor(), std::move(config)};
}

asio::awaitable<void> hand_over(outbox::inbox& to, const outbox::outgoing& sent, int copies) {
    for (int i = 0; i < copies; ++i) {
        std::vector<outbox::received> messages;
        messages.emplace_back(sent.message.topic, sent.row, sent.message);
        auto arriving = to.async_receive(std::move(messages));
        co_await std::move(arriving);
    }
}

outbox::message_handler to_shippers(const inbox_ptr& shippers, int copies) {
    return [shippers, copies](const outbox::outgoing& sent) -> asio::awaitable<outbox::verdict> {
        co_await hand_over(*shippers, sent, copies);
        co_return outbox::verdict::done();
    };
}

// Pay back first: an order that the shop shows as taken back must be paid back already.
outbox::message_handler to_shop(const inbox_ptr& shop, const inbox_ptr& wallets, int copies) {
    return
        [shop, wallets, copies](const outbox::outgoing& sent) -> asio::awaitable<outbox::verdict> {
            if (sent.message.topic == topic::refusals)
                co_await hand_over(*wallets, sent, copies);
            co_await hand_over(*shop, sent, copies);
            co_return outbox::verdict::done();
        };
}

}  // namespace

post::post(const databases& between, const locks_ptr& locks, int copies)
    : at_shippers_(inbox_of(between.shippers, &shipping::ship)),
      at_shop_(inbox_of(between.shop, &stock::hear)),
      at_wallets_(inbox_of(between.wallets, &wallets::pay_back)),
      from_shop_(relay_of(between.shop, to_shippers(at_shippers_, copies), locks)),
      from_shippers_(relay_of(between.shippers, to_shop(at_shop_, at_wallets_, copies), locks)) {}

asio::awaitable<void> post::stop() {
    co_await from_shop_.async_stop();
    co_await from_shippers_.async_stop();
    co_await at_shippers_->async_stop();
    co_await at_shop_->async_stop();
    co_await at_wallets_->async_stop();
}

}  // namespace order_server
