// SPDX-License-Identifier: BSL-1.0
#include "unit/db/db_world.hpp"

#include <boost/asio/detached.hpp>
#include <gtest/gtest.h>

#include <sqlite3.h>
#include <stdlib.h>

#include <chrono>

namespace mortise::test {

db_world::db_world() {
    std::string pattern = std::filesystem::temp_directory_path() / "mortise-db-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    sql("PRAGMA journal_mode = wal");
    sql("CREATE TABLE account(id INTEGER PRIMARY KEY, cents INTEGER NOT NULL CHECK(cents >= 0))");
    sql("INSERT INTO account VALUES(1, 100), (2, 100), (3, 100)");
}

db_world::~db_world() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

db::sqlite_config db_world::config() const {
    db::sqlite_config config;
    config.path = database();
    return config;
}

std::uintmax_t db_world::log_size() const {
    std::error_code none;
    const auto size = std::filesystem::file_size(database().string() + "-wal", none);
    return none ? 0 : size;
}

std::int64_t db_world::sql(const std::string& statement) const {
    sqlite3* db = nullptr;
    EXPECT_EQ(::sqlite3_open(database().c_str(), &db), SQLITE_OK);
    ::sqlite3_busy_timeout(db, 5'000);
    ::sqlite3_wal_autocheckpoint(db, 0);
    sqlite3_stmt* query = nullptr;
    EXPECT_EQ(::sqlite3_prepare_v2(db, statement.c_str(), -1, &query, nullptr), SQLITE_OK)
        << ::sqlite3_errmsg(db);
    const int code = ::sqlite3_step(query);
    EXPECT_TRUE(code == SQLITE_ROW || code == SQLITE_DONE) << ::sqlite3_errmsg(db);
    const std::int64_t number = code == SQLITE_ROW ? ::sqlite3_column_int64(query, 0) : 0;
    ::sqlite3_finalize(query);
    ::sqlite3_close(db);
    return number;
}

void db_world::await(asio::awaitable<void> task) {
    bool ended = false;
    std::exception_ptr failure;
    asio::co_spawn(context, std::move(task), [&](std::exception_ptr why) {
        ended = true;
        failure = std::move(why);
    });
    context.restart();
    const auto end = clock::now() + std::chrono::seconds(20);
    while (!ended && clock::now() < end)
        context.run_one_for(std::chrono::milliseconds(100));
    if (!ended)
        throw std::logic_error("the coroutine does not end");
    if (failure)
        std::rethrow_exception(failure);
}

void db_world::step_while(const std::function<bool()>& wanted) {
    context.restart();
    while (wanted())
        context.run_one_for(std::chrono::milliseconds(10));
}

void db_world::settle() {
    context.restart();
    context.run_for(std::chrono::seconds(20));
}

write_blocker::write_blocker(db::sqlite& session) : gate_(std::make_shared<gate>()) {
    auto block = [held = gate_](db::connection&) {
        held->entered.set_value();
        held->leave.get_future().wait();
    };
    session.async_run(std::move(block), db::durability::lazy, asio::detached);
    gate_->entered.get_future().wait();
}

void write_blocker::release() {
    if (const auto held = std::exchange(gate_, nullptr))
        held->leave.set_value();
}

}  // namespace mortise::test
