// SPDX-License-Identifier: BSL-1.0
#include "order_server/shop.hpp"

#include "mortise/open_store.hpp"
#include "mortise/outbox/operate.hpp"
#include "mortise/prometheus.hpp"
#include "mortise/txn/prometheus.hpp"
#include "mortise/txn/sqlite_participant.hpp"
#include "mortise/with_lock.hpp"
#include "order_server/stock.hpp"
#include "order_server/wallets.hpp"

#include <chrono>
#include <utility>

namespace order_server {
namespace {

namespace db = mortise::db;
namespace outbox = mortise::outbox;
namespace txn = mortise::txn;
using namespace std::chrono_literals;

constexpr const char* place_again = "place the order again, with the same key";

// A barrier protects the work of each participant: it lets each call work once, and refuses the try
// of a server whose lock has passed on.
txn::coordinator_config
config_for(const databases& books, std::shared_ptr<mortise::lock_client> locks) {
    txn::coordinator_config config;
    config.log = "decisions.db";
    config.locks = std::move(locks);
    config.participants.emplace(
        "stock",
        std::make_shared<txn::sqlite_participant>(
            books.shop, &stock::set_aside, &stock::hand_out, &stock::put_back
        )
    );
    config.participants.emplace(
        "wallet",
        std::make_shared<txn::sqlite_participant>(
            books.wallets, &wallets::take_aside, &wallets::pay, &wallets::give_back
        )
    );
    return config;
}

/// Finds an order by its number, or by its key for a buyer that asks again.
template <class Which>
asio::awaitable<std::optional<order_book::entry>> look_up(db::sqlite& book, const Which& key) {
    co_return co_await book.async_read([&key](db::connection& on) {
        return order_book::find(on, key);
    });
}

// How many messages wait to be sent, and for how long.
asio::awaitable<std::string> lag_of(db::sqlite& whose, std::string name) {
    const auto found =
        co_await whose.async_read([](db::connection& on) { return outbox::describe(on); });
    const std::string label = "{from=\"" + name + "\"} ";
    const auto age = std::chrono::duration<double>(found.oldest);
    co_return "order_server_messages_waiting" + label + std::to_string(found.waiting) +
        "\norder_server_message_age_seconds" + label + std::to_string(age.count()) + '\n';
}

}  // namespace

shop::shop(const asio::any_io_executor& executor)
    : locks_(
          std::make_shared<mortise::lock_client>(executor, mortise::open_store("sqlite:locks.db"))
      ),
      books_(executor) {}

asio::awaitable<void> shop::open(int copies) {
    co_await books_.open();
    tcc_.emplace(locks_->get_executor(), config_for(books_, locks_));
    post_.emplace(books_, locks_, copies);
}

asio::awaitable<void> shop::stop() {
    co_await post_->stop();
    co_await tcc_->async_stop();
    co_await books_.stop();
    co_await locks_->async_stop();
}

// Makes purchases of one item take turns, across all processes. Different items do not block each
// other.
asio::awaitable<std::optional<shop::entry>> shop::place(order wanted) {
    try {
        const auto price = co_await books_.shop->async_read([&wanted](db::connection& on) {
            return stock::price_of(on, wanted.item);
        });
        if (!price)
            co_return std::nullopt;
        wanted.euros = *price;
        co_return co_await mortise::with_lock(
            *locks_,
            wanted.lock(),
            {.wait_max = 20s},
            [&](const mortise::lease& held) { return find_or_sell(held, wanted); }
        );
    } catch (const boost::system::system_error& wrong) {
        if (wrong.code() == mortise::condition::retryable)
            throw;
        throw mortise::error(mortise::errc::outcome_unknown, wrong.what(), place_again);
    }
}

// An earlier server may have died during the sale, or lost its lock. The log then knows how the
// sale must end: finish it first.
asio::awaitable<shop::entry> shop::find_or_sell(const mortise::lease& held, const order& wanted) {
    auto found = co_await look_up(*books_.shop, wanted);
    if (found && found->is(order_book::pending)) {
        [[maybe_unused]] const auto settled = co_await tcc_->async_settle(found->under);
        found = co_await look_up(*books_.shop, wanted);
    }
    if (!found) {
        co_await sell(held, wanted);
        found = co_await look_up(*books_.shop, wanted);
    }
    if (!found || (found->is(order_book::pending) && found->item == wanted.item))
        throw mortise::error(mortise::errc::rolled_back, wanted.item, place_again);
    co_return *found;
}

// The wallet is asked after the stock: a buyer hears of too little money only while there are
// items.
asio::awaitable<void> shop::sell(const mortise::lease& held, const order& wanted) {
    txn::transaction transaction;
    const auto item = transaction.add("stock", wanted.text());
    transaction.add("wallet", wanted.text(), {item});
    transaction.under(held);
    auto running = tcc_->async_run(std::move(transaction));
    const txn::outcome outcome = co_await std::move(running);
    if (outcome.gid()) {  // a refused sale leaves the book first
        [[maybe_unused]] const auto settled = co_await tcc_->async_settle(outcome.gid());
    }
    if (outcome.text() != order_book::sold_out && outcome.text() != order_book::no_money)
        co_return;
    co_await books_.shop->async_run([&](db::connection& on) {
        order_book::refuse(on, wanted, outcome.text());
    });
}

asio::awaitable<std::optional<shop::entry>> shop::find(std::int64_t number) {
    co_return co_await look_up(*books_.shop, number);
}

asio::awaitable<std::string> shop::metrics() {
    std::string page = mortise::prometheus_text(locks_->stats(), "order_server");
    page += txn::prometheus_text(tcc_->stats(), "order_server");
    page += co_await lag_of(*books_.shop, "shop");
    page += co_await lag_of(*books_.shippers, "shippers");
    co_return page;
}

}  // namespace order_server
