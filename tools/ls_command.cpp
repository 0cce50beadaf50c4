// SPDX-License-Identifier: BSL-1.0
#include "ls_command.hpp"

#include "await_main.hpp"
#include "exit_code.hpp"
#include "failure.hpp"
#include "lock_listing.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/open_store.hpp"
#include "mortise/store.hpp"

#include <boost/asio/as_tuple.hpp>

#include <exception>
#include <iostream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace mortise::tool {
namespace {

constexpr auto with_code = asio::as_tuple(asio::deferred);
constexpr std::size_t page_size = 256;
constexpr std::size_t queue_max = 1'000;

/// All locks, page after page. A lock that comes or goes meanwhile may or may not be among them.
asio::awaitable<std::vector<lock_view>>
read_all(lock_client& locks, const std::string& store, bool waiters) {
    std::vector<lock_view> all;
    for (;;) {
        const std::string after = all.empty() ? std::string() : all.back().name;
        auto listed =
            co_await locks.async_list(after, page_size, waiters ? queue_max : 1, with_code);
        auto& [code, page] = listed;
        if (code)
            throw failure::of_code(code, store, locks.explain());
        const bool last = page.size() < page_size;
        all.insert(
            all.end(), std::make_move_iterator(page.begin()), std::make_move_iterator(page.end())
        );
        if (last)
            co_return all;
    }
}

asio::awaitable<int> list(lock_client& locks, const global_settings& global, bool waiters) {
    std::vector<lock_view> all;
    std::exception_ptr failed;
    try {
        all = co_await read_all(locks, global.store, waiters || global.json);
    } catch (...) {
        failed = std::current_exception();
    }
    co_await locks.async_stop(with_code);
    if (failed)
        std::rethrow_exception(failed);
    if (global.json)
        write_json(std::cout, global.store, all);
    else
        write_table(std::cout, all, waiters);
    co_return exit_code::success;
}

}  // namespace

int list_locks(const global_settings& global, const ls_settings& settings) {
    asio::io_context context(1);
    client_config config;
    config.label = "ls";
    lock_client locks(context.get_executor(), open_store(global.store), config);
    return await_main(context, list(locks, global, settings.all));
}

}  // namespace mortise::tool
