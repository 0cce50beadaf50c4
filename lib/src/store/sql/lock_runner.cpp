// SPDX-License-Identifier: BSL-1.0
#include "store/sql/lock_runner.hpp"

#include <set>
#include <utility>

namespace mortise::store_detail {

asio::awaitable<error_code> lock_runner::run(std::string name, party by, operation work) {
    const auto link = link_;
    unsigned waits = 0;
    for (unsigned losses = 0;;) {
        const auto mode = losses < losses_max ? row_lock::none : row_lock::taken;
        auto loading = link->gateway().load(by.actor, name, mode);
        const auto loaded = co_await std::move(loading);
        if (!loaded && loaded.error() == errc::database_busy && ++waits < waits_max)
            continue;  // nobody may keep a row for long
        if (!loaded)
            co_return loaded.error();
        loaded_rows rows(*loaded);
        core::lock_engine engine(rows, loaded->now);
        work(engine, rows);
        if (!rows.unmarked().empty()) {
            auto marking = mark(rows.unmarked());
            if (const error_code failed = co_await std::move(marking))
                co_return failed;
            continue;
        }
        // A row lock is given up by a write, even of the same.
        if (!rows.any_change() && mode == row_lock::none)
            co_return error_code();
        auto change =
            rows.take_change(by.actor, by.answered, link->next_stamp(), engine.take_effects());
        auto storing = link->gateway().store(std::move(change));
        const auto stored = co_await std::move(storing);
        if (!stored)
            co_return stored.error();
        if (*stored)
            co_return error_code();
        ++losses;
    }
}

asio::awaitable<error_code> lock_runner::run_for_nobody(std::string name, operation work) {
    const auto link = link_;
    auto asking = link->turn(name);
    const auto turn = co_await std::move(asking);
    auto running = run(std::move(name), party(), std::move(work));
    co_return co_await std::move(running);
}

// A session that was over when the lock was loaded may be alive again: then it stays, and the next
// load shows that.
asio::awaitable<error_code> lock_runner::mark(std::set<core::session_key> found_dead) {
    const auto link = link_;
    for (const auto key : found_dead) {
        auto marking = link->gateway().mark_dead(key);
        const auto marked = co_await std::move(marking);
        if (!marked)
            co_return marked.error();
    }
    co_return error_code();
}

}  // namespace mortise::store_detail
