// SPDX-License-Identifier: BSL-1.0
#include "flash_sale/buyers.hpp"

#include "flash_sale/checkout.hpp"
#include "flash_sale/sale_event.hpp"
#include "flash_sale/shop.hpp"
#include "mortise/coro/task_scope.hpp"
#include "mortise/mortise.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace flash_sale {
namespace {

/// What all buyers of one process share.
struct market {
    const sale_options& options;
    asio::any_io_executor executor;
    flash_sale::shop& shop;
    mortise::lock_client& locks;
    checkout* till;  ///< Only in round 4.
};

void tell(const market& m, sale_event::kind type) {
    tell(m.options.process, type);
}

asio::awaitable<void> think(const market& m) {
    asio::steady_timer timer(m.executor, m.options.think);
    co_await timer.async_wait(asio::deferred);
}

// Round 1. Read, think, write: right only as long as nobody else does the same. All buyers that
// read the same stock sell the same last item.
asio::awaitable<bool> buy_without_lock(const market& m, int buyer) {
    const int stock = co_await m.shop.read_stock();
    if (stock == 0)
        co_return false;
    co_await think(m);
    co_await m.shop.write_sale(stock - 1, buyer);
    co_return true;
}

// Round 2. The same three steps under a lock that all processes share. Two lines carry the fence:
// if this process is stopped until the lock passes to the next buyer, the database refuses its late
// write.
asio::awaitable<bool> buy_with_lock(const market& m, int buyer) {
    co_return co_await mortise::with_lock(
        m.locks,
        "sku:42",
        {},
        [&](const mortise::lease& held) -> asio::awaitable<bool> {
            const mortise::fencing_token token = held.token();
            co_await m.shop.raise_fence(token);  // before the first read
            const int stock = co_await m.shop.read_stock();
            if (stock == 0)
                co_return false;
            co_await think(m);
            co_await m.shop.write_sale_fenced(stock - 1, buyer, token);  // with the write
            co_return true;
        }
    );
}

// Round 3. A lease without `with_lock` that is never checked: this buyer trusts the first answer.
// If it is stopped while it thinks, others buy meanwhile; then it wakes up and writes an old
// result. Only the fence keeps the books right.
asio::awaitable<bool> buy_without_looking(const market& m, int buyer) {
    mortise::lease held = co_await m.locks.async_acquire("sku:42");
    const mortise::fencing_token token = held.token();
    co_await m.shop.raise_fence(token);
    tell(m, sale_event::kind::holds);
    const int stock = co_await m.shop.read_stock();
    if (stock == 0)
        co_return false;
    co_await think(m);
    co_await m.shop.write_sale_fenced(stock - 1, buyer, token);
    co_return true;  // the destructor of the lease releases the lock
}

// Round 4. Stock and money are in two databases, and change together or not at all: a transaction
// spans both, under the lock, and carries the lock's token. If this process dies in the middle,
// another one finishes the transaction. While the last item is reserved, nobody knows whether it is
// sold: the other buyers wait.
asio::awaitable<bool> buy_with_money(const market& m, int buyer) {
    for (;;) {
        mortise::lease held = co_await m.locks.async_acquire("sku:42");
        tell(m, sale_event::kind::holds);
        const books before = co_await m.till->look();
        if (before.stock == 0 && before.reserved == 0)
            co_return false;
        co_await think(m);
        if (before.stock == 0)
            continue;
        const mortise::txn::outcome outcome = co_await m.till->sell(buyer, held);
        if (outcome.confirmed())
            co_return true;
        if (outcome.why() == mortise::txn::errc::lock_lost)
            throw boost::system::system_error(mortise::errc::lease_lost);
        if (outcome.text() == "not enough money") {
            tell(m, sale_event::kind::poor);
            co_return false;
        }
    }
}

asio::awaitable<bool> buy(const market& m, int buyer) {
    switch (m.options.round) {
    case 1:
        return buy_without_lock(m, buyer);
    case 2:
        return buy_with_lock(m, buyer);
    case 3:
        return buy_without_looking(m, buyer);
    default:
        return buy_with_money(m, buyer);
    }
}

/// One buyer comes several times, and leaves when the shop is sold out.
asio::awaitable<void> one_buyer(const market& m, int buyer) {
    for (int visit = 0; visit < m.options.visits; ++visit) {
        bool bought = false;
        bool late = false;
        try {
            bought = co_await buy(m, buyer);
        } catch (const boost::system::system_error& e) {
            if (e.code() != mortise::condition::not_held)
                throw;
            late = true;
        }
        if (!bought && !late)
            co_return;
        tell(m, late ? sale_event::kind::refused : sale_event::kind::sold);
    }
}

asio::awaitable<void> all_buyers(const market& m) {
    mortise::coro::task_scope buyers(m.executor);
    for (int i = 0; i < m.options.buyers; ++i)
        buyers.spawn(one_buyer(m, m.options.process * m.options.buyers + i));
    std::exception_ptr failed;
    try {
        co_await buyers.join();
    } catch (...) {
        failed = std::current_exception();
    }
    if (m.till != nullptr)
        co_await m.till->stop();
    co_await m.locks.async_stop();
    if (failed)
        std::rethrow_exception(failed);
}

}  // namespace

int run_buyers(const sale_options& options) {
    const std::filesystem::path folder(options.folder);
    asio::io_context context(1);
    shop goods(context.get_executor(), folder / ("shop-" + std::to_string(options.round) + ".db"));
    mortise::client_config config;
    if (options.round >= 3)
        config.ttl = std::chrono::milliseconds(500);  // others wait this long for a stopped one
    const char* const store = std::getenv("MORTISE_STORE");
    if (store == nullptr)
        throw std::runtime_error("nobody said where the locks are");
    const auto locks = std::make_shared<mortise::lock_client>(
        context.get_executor(), mortise::open_store(store), config
    );
    std::optional<checkout> till;
    if (options.round == 4)
        till.emplace(context.get_executor(), folder, locks);
    const market m{options, context.get_executor(), goods, *locks, till ? &*till : nullptr};
    asio::co_spawn(context, all_buyers(m), [](const std::exception_ptr& e) {
        if (e)
            std::rethrow_exception(e);
    });
    context.run();
    return 0;
}

}  // namespace flash_sale
