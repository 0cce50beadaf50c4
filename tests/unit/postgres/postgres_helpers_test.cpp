// SPDX-License-Identifier: BSL-1.0
// The helpers that all SQL databases have, at a PostgreSQL server.
#include "unit/postgres/postgres_scene.hpp"
#include "unit/sql/fence_floor_suite.hpp"
#include "unit/sql/fence_suite.hpp"
#include "unit/sql/optimistic_suite.hpp"
#include "unit/sql/row_lock_suite.hpp"
#include "unit/sql/sql_sweep_suite.hpp"
#include "unit/sql/unique_row_suite.hpp"

namespace mortise::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, Optimistic, postgres_scene);
INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, RowLocks, postgres_scene);
INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, SqlFence, postgres_scene);
INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, SqlFenceFloor, postgres_scene);
INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, SqlSweep, postgres_scene);
INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, UniqueRow, postgres_scene);

static_assert(requires(db::postgres_connection & on) { db::lock_table(on, "t"); });

TEST(PostgresRowHeld, IsOneCodeOfTheServer) {
    EXPECT_TRUE(db::postgres_error("55P03") == condition::row_held);
    for (const char* const other : {"40001", "40P01", "57014", "55000"})
        EXPECT_FALSE(db::postgres_error(other) == condition::row_held) << other;
}

class PostgresFence : public SqlFence<postgres_scene> {};

class PostgresTableLock : public RowLocks<postgres_scene> {
protected:
    asio::awaitable<void> lock_all(std::chrono::milliseconds wait_max) {
        auto work = [wait_max](db::postgres_connection& on) -> asio::awaitable<void> {
            co_await db::lock_table(on, "public.stock", wait_max);
        };
        co_await transaction(session, work);
    }
};

TEST_F(PostgresTableLock, KeepsWritersOutAndLetsReadersIn) {
    const auto lock = [](auto& on) -> asio::awaitable<void> {
        co_await db::lock_table(on, "stock");
        co_await ask(on, "UPDATE stock SET amount = 3");
    };
    pausing_transaction<SqlScene<postgres_scene>, decltype(lock)> keeper(*this, lock);
    EXPECT_EQ(number("SELECT amount FROM stock WHERE id = 1"), 5) << "as last committed";
    EXPECT_EQ(code_of(lock_all(0ms)), errc::row_busy);
    EXPECT_EQ(code_of(lock_all(50ms)), errc::row_busy);
    std::int64_t amount = 0;
    const auto waiter = start(lock_first(db::wait_as_configured, amount));
    run_until([&] { return scene.waiting() == 1; });
    keeper.go_on(*this);
    run_until_all_ended({keeper.end, waiter});
    EXPECT_EQ(amount, 3);
    run(lock_all(0ms));
}

// Fences of `repeatable_read`: the raise is never let in wrongly, it fails.
TEST_F(PostgresFence, ARaiseThatHadToWaitFailsInASnapshotUnlessItIsRepeated) {
    for (const auto level : {db::isolation::repeatable_read, db::isolation::serializable}) {
        sql("DELETE FROM mortise_fence");
        EXPECT_EQ(raise("s", token(1)), error_code());
        const auto write = [](auto& on) -> asio::awaitable<void> {
            co_await sql_fence::admit(on, "s", token(1));
        };
        pausing_transaction<SqlScene<postgres_scene>, decltype(write)> older(*this, write);
        const auto once = start(raising("s", token(2), {.level = level}));
        const auto again = start(raising("s", token(2), {.level = level, .attempts_max = 8}));
        run_until([&] { return scene.waiting() == 2; });
        older.go_on(*this);
        run_until([&] { return once->ended && again->ended; });
        EXPECT_EQ(once->code(), db::postgres_error("40001")) << once->text();
        EXPECT_TRUE(once->code() == condition::retryable);
        EXPECT_FALSE(again->failure) << again->text();
        EXPECT_EQ(fence(), 2);
    }
}

}  // namespace
}  // namespace mortise::test
