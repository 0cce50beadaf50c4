// SPDX-License-Identifier: BSL-1.0
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "common/with_store.hpp"
#include "lock/lock_commands.hpp"
#include "mortise/coro/detail/with_code.hpp"
#include "mortise/open_store.hpp"

#include <iostream>
#include <utility>

namespace mortise::tool {
namespace {

// Whoever takes a lock makes the store.
asio::awaitable<int> take_a_lock(lock_client& locks, const global_settings& global) {
    auto taking = locks.async_try_acquire("mortise-init", {}, coro::detail::with_code);
    auto taken = co_await std::move(taking);
    auto& [code, held] = taken;
    if (code)
        throw failure::of_code(code, global.shown_store(), locks.explain());
    co_return exit_code::success;
}

}  // namespace

int init_store(const global_settings& global, const init_settings& settings) {
    if (settings.print) {
        std::cout << tables_of_store(global.store);
        return exit_code::success;
    }
    client_config config;
    config.label = "init";
    return with_store(global, std::move(config), [&](lock_client& locks) {
        return take_a_lock(locks, global);
    });
}

}  // namespace mortise::tool
