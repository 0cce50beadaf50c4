// SPDX-License-Identifier: BSL-1.0
// Whatever SQL a closure of a database session runs, nothing is committed while it runs, and its
// savepoint can be undone.
#include "db/closure_guard.hpp"
#include "fuzz/target.hpp"
#include "fuzz/vocabulary.hpp"
#include "mortise/db/connection.hpp"
#include "mortise/error.hpp"
#include "support/scratch_folder.hpp"

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>

namespace mortise::fuzz::closure_target {
namespace {

constexpr const char* words =
    "BEGIN COMMIT END ROLLBACK SAVEPOINT RELEASE TO TRANSACTION IMMEDIATE mortise_closure own "
    "\"mortise_closure\" `MORTISE_CLOSURE` PRAGMA journal_mode synchronous foreign_keys "
    "defer_foreign_keys user_version locking_mode wal_checkpoint ( ) = * off delete 1 2 'x' INSERT "
    "OR REPLACE IGNORE FAIL ABORT INTO item VALUES VALUES(1) VALUES(7) DEFAULT UPDATE SET id WHERE "
    "DELETE FROM SELECT CREATE TABLE TRIGGER BEFORE AFTER ON RAISE VACUUM ATTACH AS DETACH EXPLAIN "
    "WITH RETURNING , ; -- /* */ main. temp.";

// A database file, for all runs of this process, and a second look at what is committed.
class database {
public:
    database() {
        run(writer(), "PRAGMA journal_mode = WAL");
        run(writer(), "PRAGMA synchronous = OFF");
        run(writer(), "CREATE TABLE item(id INTEGER PRIMARY KEY)");
        run(writer(), "INSERT INTO item VALUES(1)");
    }

    sqlite3* writer() {
        if (!writer_)
            writer_ = opened();
        return writer_.get();
    }

    /// Closes the connection, and with it whatever a closure left there.
    void close_writer() { writer_.reset(); }

    bool unchanged() {
        const auto reader = opened();
        return number(reader.get(), "SELECT count(*) FROM item") == 1 &&
               number(reader.get(), "SELECT max(id) FROM item") == 1 &&
               number(reader.get(), "SELECT count(*) FROM sqlite_schema") == 1 &&
               number(reader.get(), "PRAGMA user_version") == 0;
    }

    static int run(sqlite3* db, const char* sql) {
        return ::sqlite3_exec(db, sql, nullptr, nullptr, nullptr);
    }

private:
    struct closer {
        void operator()(sqlite3* db) const { ::sqlite3_close_v2(db); }
    };
    using handle = std::unique_ptr<sqlite3, closer>;

    handle opened() const {
        sqlite3* db = nullptr;
        const int code = ::sqlite3_open((scratch_.path() / "shop.db").c_str(), &db);
        handle result(db);
        MORTISE_ASSERT(code == SQLITE_OK);
        constexpr int steps = 1'000'000;  // The library sets no limit to the cost of a statement.
        ::sqlite3_progress_handler(
            db, steps, [](void*) { return 1; }, nullptr
        );
        return result;
    }

    static std::int64_t number(sqlite3* db, const char* sql) {
        sqlite3_stmt* query = nullptr;
        MORTISE_ASSERT(::sqlite3_prepare_v2(db, sql, -1, &query, nullptr) == SQLITE_OK);
        MORTISE_ASSERT(::sqlite3_step(query) == SQLITE_ROW);
        const std::int64_t value = ::sqlite3_column_int64(query, 0);
        ::sqlite3_finalize(query);
        return value;
    }

    test::scratch_folder scratch_{test::scratch_folder::place::memory};
    handle writer_;
};

std::string some_sql(input& in) {
    static const vocabulary known(words);
    std::string sql;
    for (std::size_t i = 0, count = 1 + in.pick(10); i < count; ++i)
        sql += known.pick(in, 8) + ' ';
    return sql;
}

void run_closure(db::connection& on, input& in) {
    constexpr int statements_max = 6;
    for (int i = 0; i < statements_max && !in.used_up(); ++i) {
        try {
            auto query = on.query(some_sql(in));
            for (int rows = 0; rows < 20 && query.step(); ++rows) {
            }
        } catch (const error& why) {
            MORTISE_ASSERT(why.code().failed());
        }
    }
}

}  // namespace

MORTISE_FUZZ_TARGET(closure) {
    static database shop;
    sqlite3* const db = shop.writer();
    db::detail::closure_guard guard;
    guard.install(db);
    MORTISE_ASSERT(database::run(db, "BEGIN IMMEDIATE") == SQLITE_OK);
    MORTISE_ASSERT(database::run(db, "SAVEPOINT mortise_closure") == SQLITE_OK);
    {
        db::connection on(db);
        guard.enter();
        run_closure(on, in);
        on.reset_statements();
        MORTISE_ASSERT(guard.in_charge(db));
        guard.leave();
    }
    MORTISE_ASSERT(shop.unchanged());
    // SQLite may have undone the transaction by itself; else the savepoint is still there.
    if (::sqlite3_get_autocommit(db) == 0) {
        MORTISE_ASSERT(database::run(db, "ROLLBACK TO mortise_closure") == SQLITE_OK);
        MORTISE_ASSERT(database::run(db, "RELEASE mortise_closure") == SQLITE_OK);
        MORTISE_ASSERT(database::run(db, "COMMIT") == SQLITE_OK);
    }
    shop.close_writer();
    MORTISE_ASSERT(shop.unchanged());
}

}  // namespace mortise::fuzz::closure_target
