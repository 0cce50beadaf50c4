// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/optimistic.hpp"

#include "db/session_state.hpp"
#include "db/sqlite_session.hpp"
#include "mortise/coro/sleep.hpp"

#include <sqlite3.h>

#include <cstddef>
#include <string>

namespace mortise::db {
namespace {

// Uses back quotes, because SQLite takes an unknown name in double quotes for a text.
std::string quoted(const std::string& name) {
    std::string text = "`";
    for (const char c : name)
        text += c == '`' ? "``" : std::string(1, c);
    return text + '`';
}

std::string shown(const column_value& id) {
    if (const auto* const number = std::get_if<std::int64_t>(&id))
        return std::to_string(*number);
    if (const auto* const text = std::get_if<std::string>(&id))
        return *text;
    return "?";
}

error failure(errc code, const versioned_row& target, const char* remedy) {
    return error(code, target.table + " " + shown(target.id), remedy);
}

bool is_written(const versioned_row& target, const row& draft, std::size_t column) {
    return draft.changed(column) && draft.name(column) != target.version_column;
}

std::string update_of(const versioned_row& target, const row& draft) {
    const std::string version = quoted(target.version_column);
    std::string sql = "UPDATE " + quoted(target.table) + " SET ";
    for (std::size_t i = 0; i < draft.size(); ++i) {
        if (is_written(target, draft, i))
            sql += quoted(draft.name(i)) + " = ?, ";
    }
    sql += version + " = " + version + " + 1 WHERE " + quoted(target.id_column) + " = ?";
    return sql + " AND " + version + " = ?";
}

}  // namespace

optimistic_run::optimistic_run(
    const sqlite& session, versioned_row target, optimistic_options options
)
    : session_(session.session_),
      which_(std::move(target)),
      options_(options),
      backoff_(options.pause, session.session_->draw_seed()) {
    MORTISE_ASSERT(options.attempts_max >= 1);
}

row optimistic_run::look(connection& db) const {
    auto found = db.query(
        "SELECT * FROM " + quoted(which_.table) + " WHERE " + quoted(which_.id_column) + " = ?"
    );
    found.bind_value(which_.id);
    if (!found.step())
        throw failure(errc::row_missing, which_, "insert it first, or see whether it was removed");
    return found.copy_row();
}

asio::awaitable<row> optimistic_run::read() {
    auto work = [this](connection& db) { return look(db); };
    row found = co_await detail::start_work(
        session_, detail::session_side::read, work, durability::lazy, asio::deferred
    );
    version_ = found.integer(which_.version_column);
    co_return found;
}

bool optimistic_run::compare_and_set(connection& db, const row& draft) const {
    auto update = db.query(update_of(which_, draft));
    for (std::size_t i = 0; i < draft.size(); ++i) {
        if (is_written(which_, draft, i))
            update.bind_value(draft.value(i));
    }
    update.bind_value(which_.id);
    update.bind(version_);
    update.run();
    return db.changes() > 0;
}

asio::awaitable<bool> optimistic_run::write(row draft) {
    if (!draft.changed())
        co_return true;
    if (draft.integer(which_.version_column) != version_)
        throw failure(errc::bad_config, which_, "the body leaves the version alone");
    auto work = [this, &draft](connection& db) { return compare_and_set(db, draft); };
    co_return co_await detail::start_work(
        session_, detail::session_side::write, work, options_.how, asio::deferred
    );
}

asio::awaitable<void> optimistic_run::pause() {
    ++session_->state().conflicts;
    if (backoff_.attempts() + 1 >= options_.attempts_max)
        throw failure(errc::contended, which_, "try again later, or raise attempts_max");
    co_await coro::sleep_for(session_->time(), backoff_.next());
}

}  // namespace mortise::db
