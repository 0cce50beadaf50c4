// SPDX-License-Identifier: BSL-1.0
#include "chaos/chaos_test.hpp"

#include "mortise/coro/clock.hpp"
#include "support/eventually.hpp"

#include <sqlite3.h>

#include <thread>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

/// The first value of the first row; empty if there is none.
std::string first_value(const std::filesystem::path& database, const std::string& statement) {
    sqlite3* db = nullptr;
    EXPECT_EQ(::sqlite3_open(database.c_str(), &db), SQLITE_OK);
    ::sqlite3_busy_timeout(db, 5'000);
    sqlite3_stmt* query = nullptr;
    EXPECT_EQ(::sqlite3_prepare_v2(db, statement.c_str(), -1, &query, nullptr), SQLITE_OK)
        << ::sqlite3_errmsg(db);
    std::string text;
    if (::sqlite3_step(query) == SQLITE_ROW) {
        if (const auto* value = ::sqlite3_column_text(query, 0))
            text = reinterpret_cast<const char*>(value);
    }
    ::sqlite3_finalize(query);
    ::sqlite3_close(db);
    return text;
}

}  // namespace

std::unique_ptr<actor_process> chaos_test::start(std::chrono::milliseconds ttl, actor_place where) {
    return std::make_unique<actor_process>(folder, ttl, where);
}

std::int64_t chaos_test::sql(const std::string& statement) {
    return sql_at(folder, statement);
}

bool chaos_test::nothing_is_left() {
    const auto clean = [this] {
        for (const auto& each : std::filesystem::directory_iterator(folder / "locks.db.mortise")) {
            if (each.is_socket())
                return false;
        }
        return sql("SELECT (SELECT count(*) FROM entry) + (SELECT count(*) FROM session)") == 0;
    };
    const auto end = clock::now() + 5s;
    while (!clean() && clock::now() < end)
        settle();
    return clean();
}

void chaos_test::queued(const std::string& name, int entries) {
    const std::string count =
        "SELECT count(*) FROM entry WHERE name = CAST('" + name + "' AS BLOB)";
    EXPECT_TRUE(eventually([&] { return sql(count) == entries; })) << name << ": " << sql(count);
    settle();
}

void chaos_test::settle() {
    std::this_thread::sleep_for(100ms);
}

std::string content_at(const std::filesystem::path& folder, const std::string& name) {
    return first_value(
        folder / "resource.db", "SELECT text FROM content WHERE name = '" + name + "'"
    );
}

std::int64_t sql_at(const std::filesystem::path& folder, const std::string& statement) {
    const std::string value = first_value(folder / "locks.db", statement);
    return value.empty() ? 0 : std::stoll(value);
}

std::int64_t time_in(const std::string& line) {
    return std::stoll(words_of(line).at(4));
}

std::uint64_t token_in(const std::string& held_line) {
    return std::stoull(words_of(held_line).at(2));
}

double ms_since(std::int64_t nanoseconds) {
    return static_cast<double>(clock::now().time_since_epoch().count() - nanoseconds) / 1e6;
}

}  // namespace mortise::test
