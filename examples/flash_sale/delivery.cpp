// SPDX-License-Identifier: BSL-1.0
#include "flash_sale/delivery.hpp"

#include "flash_sale/departments.hpp"
#include "flash_sale/local_delivery.hpp"
#ifdef FLASH_SALE_WITH_KAFKA
#include "flash_sale/kafka_delivery.hpp"
#endif

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>

namespace flash_sale {
namespace {

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
