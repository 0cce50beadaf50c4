// SPDX-License-Identifier: BSL-1.0
#include "show_command.hpp"

#include "exit_code.hpp"
#include "failure.hpp"
#include "lock_report.hpp"
#include "with_code.hpp"
#include "with_store.hpp"

#include <iostream>
#include <utility>

namespace mortise::tool {
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
    auto looked = co_await locks.async_inspect(settings.lock, queue_max, with_code);
    auto& [code, view] = looked;
    if (code)
        throw failure::of_code(code, global.shown_store(), locks.explain());
    if (view)
        report.view = std::move(*view);
    report.view.name = settings.lock;
    auto read = co_await locks.async_breaks(settings.lock, breaks_shown, with_code);
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
