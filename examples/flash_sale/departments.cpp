// SPDX-License-Identifier: BSL-1.0
#include "flash_sale/departments.hpp"

#include "flash_sale/ledger.hpp"
#include "flash_sale/refund.hpp"
#include "flash_sale/sale_databases.hpp"
#include "flash_sale/sale_event.hpp"
#include "flash_sale/shipping.hpp"

#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <utility>

namespace flash_sale {
namespace {

namespace db = mortise::db;
namespace outbox = mortise::outbox;

constexpr std::chrono::milliseconds look_again{50};

// The inbox knows a message by its offset in the stream, and ignores a repetition.
std::shared_ptr<outbox::inbox>
inbox_of(const std::shared_ptr<db::sqlite>& whose, outbox::inbox_handler handler, int process) {
    outbox::inbox_config config;
    config.by = outbox::inbox_config::kind::offsets;
    config.handler = [handler = std::move(handler),
                      process](db::connection& on, const outbox::received& received) {
        tell(process, sale_event::kind::delivered);
        return handler(on, received);
    };
    config.observer = [process](const outbox::inbox_event& each) {
        if (each.type == outbox::inbox_event::kind::repeated)
            tell(process, sale_event::kind::repeated);
    };
    return std::make_shared<outbox::inbox>(whose->get_executor(), whose, std::move(config));
}

outbox::relay relay_of(db::sqlite& whose, outbox::sink_factory to) {
    outbox::relay_config config;
    config.database = whose.path();
    config.keep = std::chrono::hours(1);  // the report counts the rows
    config.sink = std::move(to);
    return {whose.get_executor(), std::move(config)};
}

std::shared_ptr<db::sqlite> open_database(
    const asio::any_io_executor& executor, const std::filesystem::path& folder, const char* file
) {
    return std::make_shared<db::sqlite>(executor, database_in(folder, file));
}

}  // namespace

departments::departments(
    asio::any_io_executor executor, const std::filesystem::path& folder, int process
)
    : goods_(open_database(executor, folder, goods_file)),
      wallets_(open_database(executor, folder, wallets_file)),
      shippers_(open_database(executor, folder, shipping_file)),
      orders(inbox_of(shippers_, &shipping::ship, process)),
      returns(inbox_of(goods_, &refund::take_back, process)),
      refunds(inbox_of(wallets_, &refund::pay_back, process)) {}

asio::awaitable<void> departments::open() {
    co_await shippers_->async_run(&shipping::make_tables);
}

outbox::relay departments::relay_of_shop(outbox::sink_factory to) const {
    return relay_of(*goods_, std::move(to));
}

outbox::relay departments::relay_of_shippers(outbox::sink_factory to) const {
    return relay_of(*shippers_, std::move(to));
}

asio::awaitable<void> departments::settled() {
    asio::steady_timer timer(goods_->get_executor());
    ledger found;
    do {
        timer.expires_after(look_again);
        co_await timer.async_wait(asio::deferred);
        co_await read_ledger(*goods_, *wallets_, *shippers_, found);
    } while (!found.settled());
}

asio::awaitable<void> departments::stop() {
    co_await orders->async_stop();
    co_await returns->async_stop();
    co_await refunds->async_stop();
}

}  // namespace flash_sale
