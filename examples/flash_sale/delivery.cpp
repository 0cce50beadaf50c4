// SPDX-License-Identifier: BSL-1.0
#include "flash_sale/delivery.hpp"

#include "flash_sale/refund.hpp"
#include "flash_sale/sale_databases.hpp"
#include "flash_sale/sale_event.hpp"
#include "flash_sale/shipping.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/outbox/handler_sink.hpp"
#include "mortise/outbox/inbox.hpp"
#include "mortise/outbox/relay.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace flash_sale {
namespace {

namespace asio = boost::asio;
namespace db = mortise::db;
namespace outbox = mortise::outbox;

using session_ptr = std::shared_ptr<db::sqlite>;
using receivers = std::vector<outbox::inbox*>;

constexpr std::chrono::milliseconds on_the_road{10};

// What has arrived is known by its place in the stream that it came in, and has no effect a second
// time.
outbox::inbox inbox_of(const session_ptr& whose, outbox::inbox_handler handler, int process) {
    outbox::inbox_config config;
    config.by = outbox::inbox_config::kind::offsets;
    config.handler = std::move(handler);
    config.observer = [process](const outbox::inbox_event& each) {
        if (each.what == outbox::inbox_event::kind::repeated)
            tell(process, sale_event::kind::repeated);
    };
    return {whose->get_executor(), whose, std::move(config)};
}

outbox::message_handler carry(receivers to, std::uint32_t shard, int process) {
    return [to = std::move(to), shard, process](const outbox::outgoing& sent
           ) -> asio::awaitable<outbox::verdict> {
        asio::steady_timer road(co_await asio::this_coro::executor, on_the_road);
        co_await road.async_wait(asio::deferred);
        for (outbox::inbox* const each : to) {
            std::vector<outbox::received> messages;
            auto stream = sent.what.topic + "-" + std::to_string(shard);
            messages.emplace_back(std::move(stream), sent.row, sent.what);
            auto arriving = each->async_receive(std::move(messages));
            co_await std::move(arriving);
        }
        tell(process, sale_event::kind::delivered);
        co_return outbox::verdict::done();
    };
}

// A shard of the table is a stream: its messages come in the order of their rows.
outbox::relay relay_of(db::sqlite& whose, const receivers& to, int process) {
    outbox::relay_config config;
    config.database = whose.path();
    config.keep = std::chrono::hours(1);  // to be counted at the end
    config.sink = [to, process](const asio::any_io_executor& strand, std::uint32_t shard) {
        return outbox::make_handler_sink(carry(to, shard, process))(strand, shard);
    };
    return {whose.get_executor(), std::move(config)};
}

asio::awaitable<void>
deliver(session_ptr goods, session_ptr wallets, session_ptr shippers, int process) {
    co_await shippers->async_run(&shipping::make_tables);
    auto orders = inbox_of(shippers, &shipping::ship, process);
    auto returns = inbox_of(goods, &refund::take_back, process);
    auto refunds = inbox_of(wallets, &refund::pay_back, process);
    auto to_shippers = relay_of(*goods, {&orders}, process);
    auto to_shop = relay_of(*shippers, {&returns, &refunds}, process);
    co_await to_shippers.async_drained();
    co_await to_shop.async_drained();  // after the other: each order that arrived is answered
    co_await to_shippers.async_stop();
    co_await to_shop.async_stop();
    co_await orders.async_stop();
    co_await returns.async_stop();
    co_await refunds.async_stop();
}

}  // namespace

int run_delivery(const sale_options& options) {
    const std::filesystem::path folder(options.folder);
    asio::io_context context(1);
    const auto open = [&](const char* file) {
        return std::make_shared<db::sqlite>(context.get_executor(), database_in(folder, file));
    };
    asio::co_spawn(
        context,
        deliver(open(goods_file), open(wallets_file), open(shipping_file), options.process),
        [](const std::exception_ptr& e) {
            if (e)
                std::rethrow_exception(e);
        }
    );
    context.run();
    return 0;
}

}  // namespace flash_sale
