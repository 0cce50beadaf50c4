// SPDX-License-Identifier: BSL-1.0
// The helpers that all SQL databases have, in SQLite.
#include "unit/db/db_world.hpp"
#include "unit/sql/unique_row_suite.hpp"

namespace mortise::test {
namespace {

/// A database in a folder of its own (see `SqlScene`).
class sqlite_scene {
public:
    using session_type = db::sqlite;

    db::sqlite open() { return world_.open(); }
    std::string sql(const std::string& statement) const {
        return std::to_string(world_.sql(statement));
    }

private:
    db_world world_;

public:
    asio::io_context& context = world_.context;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, UniqueRow, sqlite_scene);

TEST(DbConnection, RunsAStatementThatIsTextAndValues) {
    db_world world;
    db::sqlite session = world.open();
    const auto work = [](db::connection& on) {
        const auto changed =
            on.run(db::bound_sql("UPDATE account SET cents = cents + ? WHERE id = ?", 5, 1));
        EXPECT_TRUE(changed.empty());
        EXPECT_EQ(changed.affected, 1);
        const auto found = on.run(db::bound_sql("SELECT id, cents FROM account ORDER BY id"));
        EXPECT_EQ(found.affected, static_cast<std::int64_t>(found.rows.size()));
        return found.first().integer("cents");
    };
    auto task = [&]() -> asio::awaitable<std::int64_t> {
        co_return co_await session.async_run(work);
    };
    EXPECT_EQ(world.run(task()), 105);
    EXPECT_EQ(world.cents(1), 105);
}

}  // namespace
}  // namespace mortise::test
