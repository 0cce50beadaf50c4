// SPDX-License-Identifier: BSL-1.0
#include "sim/shop.hpp"

#include "mortise/coro/sleep.hpp"
#include "mortise/coro/task_scope.hpp"
#include "mortise/sim/world.hpp"
#include "mortise/store.hpp"
#include "mortise/with_lock.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <chrono>
#include <utility>
#include <vector>

namespace mortise::test {
namespace {

using std::chrono::milliseconds;

constexpr auto with_code = asio::as_tuple(asio::deferred);
constexpr std::size_t permits_of_last = 2;

// Locks 0 and 1 are exclusive or shared, 2 is exclusive, 3 has permits.
lock_mode mode_for(std::size_t index, sim::dice& dice) {
    if (index == 3)
        return lock_mode::permits(permits_of_last);
    return index < 2 && dice.chance(0.4) ? lock_mode::shared() : lock_mode::exclusive();
}

}  // namespace

std::string lock_name(std::size_t index) {
    return "door " + std::to_string(index);
}

shop::shop(shop_floor& floor, sim::process& self)
    : floor_(floor),
      self_(self),
      dice_(self.in().random()),
      locks_(self.get_executor(), floor.make_store(self), [&] {
          client_config config = floor.config;
          config.time = self.time();
          return config;
      }()) {}

asio::awaitable<void> shop::main(shop_floor& floor, sim::process& self) {
    const auto one = std::make_unique<shop>(floor, self);
    co_await one->run();
}

asio::awaitable<void> shop::run() {
    coro::task_scope all(self_.get_executor());
    for (std::size_t i = 0; i < workers; ++i)
        all.spawn(work());
    co_await all.join();
    auto stopped = co_await locks_.async_stop(with_code);
    if (std::get<0>(stopped))
        floor_.verdicts->fail("a client did not stop: " + std::get<0>(stopped).message());
    ++floor_.finished;
}

asio::awaitable<void> shop::work() {
    while (floor_.chaos) {
        co_await once();
        co_await rest(milliseconds(250));
    }
    co_await last_lap();
}

asio::awaitable<void> shop::rest(clock::duration mean) {
    const auto span = dice_.around(mean);
    co_await coro::sleep_for(*self_.time(), span);
}

void shop::count_error(error_code why) {
    if (!why || why == errc::busy || why == errc::quarantined ||
        why == asio::error::operation_aborted)
        return;
    ++floor_.errors;
    if (self_.in().listened_to())
        self_.in().say(self_.name() + " fails: " + why.message() + " " + locks_.explain());
}

asio::awaitable<void> shop::once() {
    const std::size_t lock = dice_.below(lock_names);
    lock_options options;
    options.mode = mode_for(lock, dice_);
    if (sometimes(0.3))
        options.wait_max = milliseconds(dice_.below(3'000));
    if (sometimes(0.2))
        options.hold_max = milliseconds(500 + dice_.below(3'000));
    if (sometimes(0.2))
        options.linger = milliseconds(dice_.below(500));
    leave_out_unknown(options);
    if (self_.in().listened_to()) {
        self_.in().say(
            self_.name() + " wants " + lock_name(lock) + ", hold_max " +
            std::to_string(options.hold_max.count()) + ", linger " +
            std::to_string(options.linger.count())
        );
    }
    const std::size_t way = dice_.below(10);
    if (way == 0)
        co_await acquire_all();
    else if (way < 3)
        co_await under_lock(lock_name(lock), options);
    else
        co_await acquire_one(lock_name(lock), options);
}

asio::awaitable<void> shop::acquire_one(std::string name, lock_options options) {
    lease held;
    error_code failed;
    if (sometimes(0.1)) {
        auto tried = co_await locks_.async_try_acquire(std::move(name), options, with_code);
        failed = std::get<0>(tried);
        if (std::get<1>(tried))
            held = std::move(*std::get<1>(tried));
    } else {
        asio::cancellation_signal stop;
        const auto slot = asio::bind_cancellation_slot(stop.slot(), with_code);
        if (sometimes(0.15)) {
            const auto when =
                coro::saturating_add(self_.time()->now(), dice_.around(milliseconds(200)));
            const auto signal = std::make_shared<asio::cancellation_signal*>(&stop);
            self_.time()->async_wait_until(
                when,
                asio::bind_executor(
                    self_.get_executor(),
                    [signal](error_code) {
                        if (*signal)
                            (*signal)->emit(asio::cancellation_type::total);
                    }
                )
            );
            auto got = co_await locks_.async_acquire(std::move(name), options, slot);
            *signal = nullptr;
            failed = std::get<0>(got);
            held = std::move(std::get<1>(got));
        } else {
            auto got = co_await locks_.async_acquire(std::move(name), options, with_code);
            failed = std::get<0>(got);
            held = std::move(std::get<1>(got));
        }
    }
    count_error(failed);
    if (failed || !held)
        co_return;
    co_await use(held, options);
    if (sometimes(0.5))
        co_await held.async_release(with_code);
}

asio::awaitable<void> shop::extend(const lease& held) {
    for (auto calls = 1 + dice_.below(3); calls != 0; --calls) {
        const milliseconds hold(300 + dice_.below(4'000));
        if (sometimes(0.5)) {
            const auto code = co_await held.async_extend(hold, with_code);
            count_error(std::get<0>(code));
        } else {
            held.async_extend(hold, asio::bind_executor(self_.get_executor(), [](error_code) {}));
            co_await rest(milliseconds(20));
        }
    }
    co_await rest(milliseconds(600));
}

asio::awaitable<void> shop::acquire_all() {
    lock_options options;
    options.wait_max = milliseconds(dice_.below(5'000));
    std::vector<std::string> names{lock_name(2), lock_name(0)};
    auto got = co_await locks_.async_acquire_all(std::move(names), options, with_code);
    count_error(std::get<0>(got));
    if (std::get<0>(got))
        co_return;
    lease_set held = std::move(std::get<1>(got));
    co_await use(held.at(lock_name(0)), options);
    co_await held.async_release(with_code);
}

asio::awaitable<void> shop::under_lock(std::string name, lock_options options) {
    const auto body = [this, options](const lease& held) { return use(held, options); };
    try {
        co_await with_lock(locks_, std::move(name), options, body);
    } catch (const boost::system::system_error& failed) {
        count_error(failed.code());
    }
}

asio::awaitable<void> shop::use(const lease& held, lock_options options) {
    const lock_mode mode = options.mode;
    const judge::witness seen(*floor_.verdicts, self_, held, mode);
    if (options.hold_max != milliseconds::max() && sometimes(0.5))
        co_await extend(held);
    if (mode == lock_mode::shared()) {
        co_await rest(milliseconds(60));
        co_return;
    }
    for (std::size_t left = 1 + dice_.below(3); left != 0; --left) {
        if (mode == lock_mode::exclusive() && sometimes(0.5))
            co_await change_unfenced(held);
        if (!co_await change_fenced(held))
            co_return;
    }
}

// Some workers check their lease before they write; others rely on the fence alone.
asio::awaitable<bool> shop::change_fenced(const lease& held) {
    const auto token = held.token();
    const std::string key = std::string(held.name()) + ' ' + std::string(token.domain.name());
    auto reading = floor_.numbers->read(self_, key, token);
    const auto before = co_await std::move(reading);
    if (!before)
        co_return false;
    co_await rest(milliseconds(60));
    if (sometimes(0.5) && !held.held())
        co_return false;
    co_await rest(milliseconds(60));
    const error_code failed = co_await floor_.numbers->write(self_, key, token, *before + 1);
    co_return !failed;
}

asio::awaitable<void> shop::change_unfenced(const lease& held) {
    const std::string key(held.name());
    auto reading = floor_.numbers->read_unfenced(self_, key);
    const auto before = co_await std::move(reading);
    co_await rest(milliseconds(60));
    if (!before || !held.held())
        co_return;
    co_await rest(milliseconds(200));  // no check prevents the harm of a pause here
    co_await floor_.numbers->write_unfenced(self_, key, *before + 1);
}

// Asks for nothing that the store does not do.
void shop::leave_out_unknown(lock_options& options) const {
    const auto traits = locks_.traits();
    if (!traits.shared || !traits.permits)
        options.mode = lock_mode::exclusive();
    if (!traits.hold_max)
        options.hold_max = milliseconds::max();
}

asio::awaitable<void> shop::last_lap() {
    for (std::size_t i = 0; i < lock_names; ++i) {
        lock_options options;
        options.mode = mode_for(i, dice_);
        leave_out_unknown(options);
        // A late fault of the chaos may still be on its way: try again.
        for (;;) {
            auto got = co_await locks_.async_acquire(lock_name(i), options, with_code);
            if (!std::get<0>(got)) {
                const lease held = std::move(std::get<1>(got));
                co_await use(held, options);
                break;
            }
            count_error(std::get<0>(got));
            co_await rest(milliseconds(100));
        }
    }
}

}  // namespace mortise::test
