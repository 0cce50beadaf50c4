// SPDX-License-Identifier: BSL-1.0
// What the helpers for all databases need of a session with SQLite.
#include "db/session_state.hpp"
#include "db/sqlite_session.hpp"
#include "mortise/db/optimistic.hpp"
#include "mortise/db/sqlite.hpp"

namespace mortise::db::detail {

class sqlite_optimistic_run final : public optimistic_run {
public:
    static std::shared_ptr<sqlite_session> session_of(const sqlite& session) {
        return session.session_;
    }

    sqlite_optimistic_run(
        std::shared_ptr<sqlite_session> session, versioned_row target, optimistic_options options
    )
        : optimistic_run(sql_dialect::sqlite, std::move(target), options, session->draw_seed()),
          session_(std::move(session)) {}

private:
    asio::awaitable<query_result> look(bound_sql statement) override {
        return start(session_side::read, durability::lazy, std::move(statement));
    }
    asio::awaitable<query_result> change(bound_sql statement) override {
        return start(session_side::write, options().how, std::move(statement));
    }
    coro::time_source& note_conflict() override {
        ++session_->state().conflicts;
        return session_->time();
    }

    asio::awaitable<query_result> start(session_side side, durability how, bound_sql statement) {
        auto work = [&statement](connection& on) { return on.run(statement); };
        auto starting = start_work(session_, side, work, how, asio::deferred);
        co_return co_await std::move(starting);
    }

    std::shared_ptr<sqlite_session> session_;
};

std::shared_ptr<optimistic_run>
start_optimistic(const sqlite& session, versioned_row target, optimistic_options options) {
    return std::make_shared<sqlite_optimistic_run>(
        sqlite_optimistic_run::session_of(session), std::move(target), options
    );
}

asio::awaitable<query_result> sqlite_runner::run(bound_sql statement) {
    auto work = [&statement](connection& on) { return on.run(statement); };
    auto running = session_.async_run(work);
    co_return co_await std::move(running);
}

}  // namespace mortise::db::detail
