// SPDX-License-Identifier: BSL-1.0
#include "ls_command.hpp"

#include "exit_code.hpp"
#include "lock_listing.hpp"
#include "read_locks.hpp"
#include "with_store.hpp"

#include <iostream>
#include <utility>
#include <vector>

namespace mortise::tool {
namespace {

asio::awaitable<int> list(lock_client& locks, const global_settings& global, bool waiters) {
    const std::size_t queue_max = waiters || global.json ? queue_shown_max : 1;
    const std::vector<lock_view> all =
        co_await read_locks(locks, global.shown_store(), {}, queue_max);
    if (global.json)
        write_json(std::cout, global.shown_store(), all);
    else
        write_table(std::cout, all, waiters);
    co_return exit_code::success;
}

}  // namespace

int list_locks(const global_settings& global, const ls_settings& settings) {
    client_config config;
    config.label = "ls";
    return with_store(global, std::move(config), [&](lock_client& locks) {
        return list(locks, global, settings.all);
    });
}

}  // namespace mortise::tool
