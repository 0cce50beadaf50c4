// SPDX-License-Identifier: BSL-1.0
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "common/printable.hpp"
#include "common/time_text.hpp"
#include "common/with_store.hpp"
#include "lock/lock_commands.hpp"
#include "lock/lock_report.hpp"
#include "mortise/coro/detail/with_code.hpp"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <utility>
#include <vector>

namespace mortise::tool {
namespace {

constexpr std::size_t holders_listed = 8;

std::string listing_of(const std::vector<party_view>& holders) {
    std::string text;
    for (std::size_t i = 0; i < holders.size() && i < holders_listed; ++i)
        text += (i == 0 ? "" : "; ") + grant_text(holders[i]);
    if (holders.size() > holders_listed)
        text += "; and " + std::to_string(holders.size() - holders_listed) + " more";
    return text;
}

failure nobody_holds(const std::string& lock) {
    return failure(exit_code::not_held, "nobody holds this lock: nothing was broken", lock);
}

failure held_by_another(const lock_view& lock) {
    return failure(
        exit_code::passed_on,
        "another grant holds this lock now: nothing was broken",
        lock.name,
        "it is held by " + listing_of(lock.holders)
    );
}

/// Reads the lock. The view has only a name if nobody holds the lock or waits for it.
asio::awaitable<lock_view> look(lock_client& locks, const std::string& store, std::string name) {
    auto looked = co_await locks.async_inspect(name, 1, coro::detail::with_code);
    auto& [code, found] = looked;
    if (code)
        throw failure::of_code(code, store, locks.explain());
    lock_view view;
    if (found)
        view = std::move(*found);
    view.name = std::move(name);
    co_return view;
}

void tell(std::ostream& out, const std::vector<party_view>& broken, const lock_view& after) {
    for (const party_view& party : broken)
        out << "broken: " << printable(after.name) << ", " << grant_text(party) << ", held for "
            << duration_text(party.age) << '\n';
    for (const party_view& party : after.holders)
        out << "held now by: " << grant_text(party) << '\n';
    if (after.holders.empty())
        out << "nobody holds it now\n";
    if (after.waiter_count != 0)
        out << "waiting: " << after.waiter_count << '\n';
}

void tell_json(
    std::ostream& out,
    const std::string& store,
    const std::vector<party_view>& broken,
    const lock_view& after
) {
    json::object fields;
    set_bytes(fields, "store", store);
    set_bytes(fields, "name", after.name);
    fields["broken"] = holders_json(broken);
    fields["holders"] = holders_json(after.holders);
    fields["waiter_count"] = after.waiter_count;
    out << json::serialize(fields) << '\n';
}

/// The operator's name for the record of the break. The library adds process and host.
std::string who_breaks() {
    const ::passwd* user = ::getpwuid(::geteuid());
    return "mortise break, user " +
           (user == nullptr ? std::to_string(::geteuid()) : std::string(user->pw_name));
}

}  // namespace

fencing_token choose_grant(const lock_view& lock, const break_settings& settings) {
    if (lock.holders.empty())
        throw nobody_holds(lock.name);
    std::vector<fencing_token> meant;
    for (const party_view& party : lock.holders) {
        const bool named = (!settings.token || party.token.value == *settings.token) &&
                           (!settings.slot || party.slot == *settings.slot);
        if (named && std::find(meant.begin(), meant.end(), party.token) == meant.end())
            meant.push_back(party.token);
    }
    if (meant.empty())
        throw held_by_another(lock);
    if (meant.size() > 1) {
        throw failure(
            exit_code::usage,
            "several grants hold this lock",
            lock.name,
            "name one by --token or --slot: " + listing_of(lock.holders)
        );
    }
    return meant.front();
}

asio::awaitable<int> break_lock(
    lock_client& locks,
    const global_settings& global,
    const break_settings& settings,
    std::ostream& out
) {
    const lock_view before = co_await look(locks, global.shown_store(), settings.lock);
    const fencing_token token = choose_grant(before, settings);
    std::vector<party_view> broken;
    for (const party_view& party : before.holders)
        if (party.token == token)
            broken.push_back(party);
    auto ordered =
        co_await locks.async_break(settings.lock, token, settings.why, coro::detail::with_code);
    auto& [code, done] = ordered;
    if (code)
        throw failure::of_code(code, global.shown_store(), locks.explain());
    const lock_view after = co_await look(locks, global.shown_store(), settings.lock);
    if (!done)
        throw after.holders.empty() ? nobody_holds(settings.lock) : held_by_another(after);
    if (global.json)
        tell_json(out, global.shown_store(), broken, after);
    else
        tell(out, broken, after);
    co_return exit_code::success;
}

int break_lock(const global_settings& global, const break_settings& settings) {
    if (const std::optional<error> wrong = check_name(settings.lock))
        throw *wrong;
    client_config config;
    config.label = who_breaks();
    return with_store(global, std::move(config), [&](lock_client& locks) {
        return break_lock(locks, global, settings, std::cout);
    });
}

}  // namespace mortise::tool
