// SPDX-License-Identifier: BSL-1.0
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "common/with_store.hpp"
#include "lock/lock_commands.hpp"
#include "lock/lock_report.hpp"
#include "lock/read_locks.hpp"
#include "mortise/coro/detail/with_code.hpp"

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

namespace {

constexpr std::size_t waiters_for_people = 100;
constexpr std::size_t waiters_for_programs = 1'000;
constexpr std::size_t breaks_shown = 10;

}  // namespace

asio::awaitable<int> show_lock(
    lock_client& locks,
    const global_settings& global,
    const show_settings& settings,
    std::ostream& out
) {
    lock_report report;
    const std::size_t queue_max = global.json ? waiters_for_programs : waiters_for_people;
    auto looked = co_await locks.async_inspect(settings.lock, queue_max, coro::detail::with_code);
    auto& [code, view] = looked;
    if (code)
        throw failure::of_code(code, global.shown_store(), locks.explain());
    if (view)
        report.view = std::move(*view);
    report.view.name = settings.lock;
    auto read = co_await locks.async_breaks(settings.lock, breaks_shown, coro::detail::with_code);
    auto& [unread, records] = read;
    if (unread && unread != errc::unsupported)  // not every store keeps records
        throw failure::of_code(unread, global.shown_store(), locks.explain());
    report.breaks = std::move(records);
    if (global.json)
        report.write_json(out, global.shown_store());
    else
        report.write(out);
    co_return exit_code::success;
}

int show_lock(const global_settings& global, const show_settings& settings) {
    if (const std::optional<error> wrong = check_name(settings.lock))
        throw *wrong;
    client_config config;
    config.label = "show";
    return with_store(global, std::move(config), [&](lock_client& locks) {
        return show_lock(locks, global, settings, std::cout);
    });
}

}  // namespace mortise::tool
