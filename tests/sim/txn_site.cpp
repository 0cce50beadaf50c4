// SPDX-License-Identifier: BSL-1.0
#include "sim/txn_site.hpp"

#include "mortise/coro/sleep.hpp"
#include "mortise/coro/task_scope.hpp"
#include "mortise/sim/world.hpp"
#include "mortise/store.hpp"

#include <boost/asio/as_tuple.hpp>

#include <chrono>
#include <string>
#include <tuple>
#include <utility>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

constexpr auto with_code = asio::as_tuple(asio::deferred);
constexpr int in_flight = 3;

std::shared_ptr<lock_client> make_locks(txn_floor& floor, sim::process& self) {
    client_config config;
    config.ttl = 2s;
    config.time = self.time();
    return std::make_shared<lock_client>(
        self.get_executor(), floor.locks.make_store(self), std::move(config)
    );
}

txn::coordinator_config
config_for(txn_floor& floor, sim::process& self, std::shared_ptr<lock_client> locks) {
    txn::coordinator_config config;
    config.log = floor.log();
    config.vfs = floor.disk.name();
    config.locks = std::move(locks);
    config.partitions = 2;
    config.participants.emplace("here", floor.here->seen_from(self));
    config.participants.emplace("there", floor.there->seen_from(self));
    config.deadline = 2s;
    config.call_max = 1s;
    config.try_attempts_max = 3;
    config.retry_first = 20ms;
    config.retry_max = 2s;
    config.breaker_failures = 4;
    config.prepared_look_first = 100ms;
    config.prepared_look_max = 1s;
    config.time = self.time();
    config.jitter_seed = self.in().random().next() | 1;
    return config;
}

}  // namespace

txn_site::txn_site(txn_floor& floor, sim::process& self)
    : floor_(floor),
      self_(self),
      dice_(self.in().random()),
      locks_(make_locks(floor, self)),
      tcc_(self.get_executor(), config_for(floor, self, locks_)) {}

// Tries again until the coordinator starts: its disk may fail at present.
asio::awaitable<void> txn_site::main(txn_floor& floor, sim::process& self) {
    std::unique_ptr<txn_site> one;
    while (!one) {
        try {
            one = std::make_unique<txn_site>(floor, self);
        } catch (const boost::system::system_error&) {
            ++floor.errors;
        }
        if (!one)
            co_await coro::sleep_for(*self.time(), 100ms);
    }
    co_await one->run();
}

asio::awaitable<void> txn_site::run() {
    coro::task_scope all(self_.get_executor());
    for (int i = 0; i < in_flight; ++i)
        all.spawn(make_transfers());
    co_await all.join();
    co_await finish();
}

asio::awaitable<void> txn_site::rest(clock::duration mean) {
    const auto span = dice_.around(mean);
    co_await coro::sleep_for(*self_.time(), span);
}

txn::transaction txn_site::draw_transfer() {
    const auto account = [this] {
        return std::to_string(1 + dice_.below(transfer_ledger::accounts));
    };
    const auto cents = std::to_string(1 + dice_.below(1'500));
    txn::transaction transaction;
    if (floor_.short_ways != 0 && dice_.chance(floor_.short_ways)) {
        transaction.add("here", "credit " + account() + " 0");
        return transaction;
    }
    const bool away = dice_.chance(0.5);
    const auto debit = transaction.add(away ? "here" : "there", "debit " + account() + ' ' + cents);
    std::string credit = "credit " + account() + ' ' + cents;
    if (dice_.chance(0.2))
        transaction.add(away ? "there" : "here", std::move(credit), {debit});
    else
        transaction.add(away ? "there" : "here", std::move(credit));
    if (floor_.short_ways != 0 && dice_.chance(floor_.short_ways))
        transaction.add("here", "look");
    return transaction;
}

asio::awaitable<void> txn_site::make_transfers() {
    while (floor_.chaos) {
        auto running = tcc_.async_run(draw_transfer(), with_code);
        auto [failed, outcome] = co_await std::move(running);
        if (failed)
            ++floor_.errors;
        else
            floor_.tell(outcome);
        if (!failed && outcome.unknown()) {
            auto asking = tcc_.async_outcome(outcome.gid(), with_code);
            auto [unheard, later] = co_await std::move(asking);
            if (!unheard)
                floor_.tell(later);
        }
        co_await rest(150ms);
    }
}

asio::awaitable<void> txn_site::finish() {
    for (;;) {
        auto asking = tcc_.async_list(txn::list_filter::unfinished, 0, 1, with_code);
        const auto [failed, left] = co_await std::move(asking);
        const bool orphans = floor_.here->prepared_of(floor_.log_id) != 0 ||
                             floor_.there->prepared_of(floor_.log_id) != 0;
        if (!failed && left.empty() && !orphans)
            break;
        if (self_.in().listened_to())
            self_.in().say(
                self_.name() + " still waits: " +
                (failed         ? failed.message()
                 : left.empty() ? "a branch is prepared"
                                : left.front().gid.text() + " is open")
            );
        co_await rest(100ms);
    }
    if (tcc_.stats().stuck != 0)
        floor_.fail("a branch is stuck");
    floor_.finished.insert(self_.index());
    auto stopping = tcc_.async_stop(with_code);
    co_await std::move(stopping);
    auto leaving = locks_->async_stop(with_code);
    co_await std::move(leaving);
}

}  // namespace mortise::test
