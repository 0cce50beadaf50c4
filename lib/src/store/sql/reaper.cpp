// SPDX-License-Identifier: BSL-1.0
#include "store/sql/reaper.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <limits>
#include <utility>

namespace mortise::store_detail {

void reaper::begin(const sql_beat& found) {
    const bool over = quarantined_ && found.quarantine <= clock::duration::zero();
    if (!found.dead.empty() || !found.ended.empty() || !silent_.empty() || over)
        start(found.dead, found.ended, over);
}

void reaper::bury(core::session_key silent) {
    silent_.insert(silent);
    start({}, {}, false);
}

void reaper::start(
    std::vector<core::session_key> dead, std::vector<std::string> ended, bool advance
) {
    if (std::exchange(at_work_, true))
        return;
    asio::co_spawn(
        link_->executor(),
        work(shared_from_this(), std::move(dead), std::move(ended), advance),
        asio::detached
    );
}

// Whatever fails is found again by the next heartbeat, here or at another client.
asio::awaitable<void> reaper::work(
    [[maybe_unused]] std::shared_ptr<reaper> self,
    std::vector<core::session_key> dead,
    std::vector<std::string> ended,
    bool advance
) {
    auto freeing =
        link_->of_session(link_->in_use(), free_all(std::move(dead), std::move(ended), advance));
    const error_code failed = co_await std::move(freeing);
    quarantined_ = quarantined_ && (failed || !advance);
    at_work_ = false;
}

asio::awaitable<error_code> reaper::free_all(
    std::vector<core::session_key> dead, std::vector<std::string> ended, bool advance
) {
    for (const auto key : dead) {
        auto marking = link_->gateway().mark_dead(key);
        const auto marked = co_await std::move(marking);
        if (!marked)
            co_return marked.error();
        if (!*marked)
            continue;
        auto reaping = reap(key);
        if (const error_code failed = co_await std::move(reaping))
            co_return failed;
    }
    for (const auto& name : ended) {
        auto expiring = expire(name);
        if (const error_code failed = co_await std::move(expiring))
            co_return failed;
    }
    if (advance) {
        auto advancing = advance_own();
        if (const error_code failed = co_await std::move(advancing))
            co_return failed;
    }
    auto burying = bury_all();
    co_return co_await std::move(burying);
}

asio::awaitable<error_code> reaper::bury_all() {
    while (!silent_.empty()) {
        const core::session_key key = *silent_.begin();
        auto ending = link_->gateway().end({key, 0});
        if (const error_code failed = co_await std::move(ending))
            co_return failed;
        auto reaping = reap(key);
        if (const error_code failed = co_await std::move(reaping))
            co_return failed;
        silent_.erase(key);
    }
    co_return error_code();
}

asio::awaitable<error_code> reaper::reap(core::session_key key) {
    const auto kept = shared_from_this();
    for (bool left = true; left;) {
        auto freeing = free_portion(key, left);
        if (const error_code failed = co_await std::move(freeing))
            co_return failed;
    }
    auto forgetting = link_->gateway().forget(key);
    co_return co_await std::move(forgetting);
}

asio::awaitable<error_code> reaper::free_portion(core::session_key key, bool& left) {
    auto looking = link_->gateway().entries(key, portion);
    const auto found = co_await std::move(looking);
    if (!found)
        co_return found.error();
    left = !found->places.empty();
    std::set<std::string> names;
    for (const auto& each : found->places)
        names.insert(each.entry.name);
    for (const auto& name : names) {
        lock_runner::operation free = [key](core::lock_engine& engine, loaded_rows&) {
            std::size_t budget = std::numeric_limits<std::size_t>::max();
            engine.reap(key, budget);
        };
        auto running = runner_.run_for_nobody(name, std::move(free));
        if (const error_code failed = co_await std::move(running))
            co_return failed;
    }
    co_return error_code();
}

asio::awaitable<error_code> reaper::expire(std::string name) {
    lock_runner::operation end = [](core::lock_engine& engine, loaded_rows&) {
        std::size_t budget = std::numeric_limits<std::size_t>::max();
        engine.expire(budget);
    };
    return runner_.run_for_nobody(std::move(name), std::move(end));
}

// Each session grants on the locks that it waits for: together these are all.
asio::awaitable<error_code> reaper::advance_own() {
    auto looking =
        link_->gateway().entries(link_->actor().key, std::numeric_limits<std::size_t>::max());
    const auto found = co_await std::move(looking);
    if (!found)
        co_return found.error();
    for (const auto& each : found->places) {
        if (each.entry.granted)
            continue;
        const std::string name = each.entry.name;
        lock_runner::operation grant = [name](core::lock_engine& engine, loaded_rows&) {
            engine.advance(name);
        };
        auto running = runner_.run_for_nobody(name, std::move(grant));
        if (const error_code failed = co_await std::move(running))
            co_return failed;
    }
    co_return error_code();
}

}  // namespace mortise::store_detail
