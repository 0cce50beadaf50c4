// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SIM_SHOP_HPP
#define MORTISE_TESTS_SIM_SHOP_HPP

#include "mortise/lock_client.hpp"
#include "mortise/sim/dice.hpp"
#include "mortise/sim/process.hpp"
#include "sim/judge.hpp"
#include "sim/resource.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace mortise::test {

/// Shared by the processes of a run.
class shop_floor {
public:
    shop_floor() = default;

    std::function<std::unique_ptr<store>(sim::process&)> make_store;
    client_config config;
    judge* verdicts = nullptr;
    resource* numbers = nullptr;
    bool chaos = true;         ///< Faults still happen.
    std::size_t finished = 0;  ///< Processes that have done their last lap and stopped.
    std::uint64_t errors = 0;  ///< Failed acquires, apart from `busy` and cancellation.
};

/// The work of a process with locks in one life. Its workers acquire in every possible way, work on
/// the numbers behind the locks, and release. After the chaos each worker acquires every lock once
/// more, and must succeed.
class shop {
public:
    static constexpr std::size_t workers = 2;

    shop(shop_floor& floor, sim::process& self);

    static asio::awaitable<void> main(shop_floor& floor, sim::process& self);

private:
    asio::awaitable<void> run();
    asio::awaitable<void> work();
    asio::awaitable<void> once();
    asio::awaitable<void> acquire_one(std::string name, lock_options options);
    asio::awaitable<void> extend(const lease& held);
    asio::awaitable<void> acquire_all();
    asio::awaitable<void> under_lock(std::string name, lock_options options);
    asio::awaitable<void> last_lap();
    asio::awaitable<void> use(const lease& held, lock_options options);
    void leave_out_unknown(lock_options& options) const;
    asio::awaitable<bool> change_fenced(const lease& held);
    asio::awaitable<void> change_unfenced(const lease& held);
    asio::awaitable<void> rest(clock::duration mean);
    void count_error(error_code why);
    bool sometimes(double probability) { return dice_.chance(probability); }

    shop_floor& floor_;
    sim::process& self_;
    sim::dice& dice_;
    lock_client locks_;
};

/// The locks of a run. Each is used in one kind of modes.
std::string lock_name(std::size_t index);
inline constexpr std::size_t lock_names = 4;

}  // namespace mortise::test

#endif
