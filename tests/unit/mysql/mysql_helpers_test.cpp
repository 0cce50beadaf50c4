// SPDX-License-Identifier: BSL-1.0
// The helpers that all SQL databases have, at a MariaDB server.
#include "unit/mysql/mysql_party.hpp"
#include "unit/sql/fence_floor_suite.hpp"
#include "unit/sql/fence_suite.hpp"
#include "unit/sql/optimistic_suite.hpp"
#include "unit/sql/row_lock_suite.hpp"
#include "unit/sql/sql_sweep_suite.hpp"
#include "unit/sql/unique_row_suite.hpp"

namespace mortise::test {
namespace {

/// A database at the MariaDB server of this program (see `SqlScene`).
class mysql_scene {
public:
    using session_type = db::mysql;
    static constexpr const char* quote = "`";

    db::mysql open() { return party_.open(); }
    std::string sql(const std::string& statement) const { return party_.run(statement); }
    int waiting() const {
        return std::stoi(sql("SELECT variable_value FROM information_schema.global_status WHERE"
                             " variable_name = 'INNODB_ROW_LOCK_CURRENT_WAITS'"));
    }

    asio::awaitable<std::string> lock_time_out(db::mysql_connection& on) const {
        const auto found = co_await ask(on, "SELECT @@innodb_lock_wait_timeout");
        co_return std::to_string(found.first().integer(std::size_t{0}));
    }

private:
    mysql_party party_;

public:
    asio::io_context& context = party_.context;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Mysql, Optimistic, mysql_scene);
INSTANTIATE_TYPED_TEST_SUITE_P(Mysql, RowLocks, mysql_scene);
INSTANTIATE_TYPED_TEST_SUITE_P(Mysql, SqlFence, mysql_scene);
INSTANTIATE_TYPED_TEST_SUITE_P(Mysql, SqlFenceFloor, mysql_scene);
INSTANTIATE_TYPED_TEST_SUITE_P(Mysql, SqlSweep, mysql_scene);
INSTANTIATE_TYPED_TEST_SUITE_P(Mysql, UniqueRow, mysql_scene);

// It would commit the transaction.
template <class Connection>
concept locks_tables = requires(Connection& on) {
    db::lock_table(on, "t");
};
static_assert(!locks_tables<db::mysql_connection>);

TEST(MysqlRowHeld, IsTwoNumbersOfTheServers) {
    EXPECT_TRUE(db::mysql_error(1205) == condition::row_held);
    EXPECT_TRUE(db::mysql_error(3572) == condition::row_held) << "MySQL's answer to NOWAIT";
    EXPECT_TRUE(db::mysql_error(3572) == condition::retryable);
    for (const int other : {1213, 1020, 1062})
        EXPECT_FALSE(db::mysql_error(other) == condition::row_held) << other;
}

class MysqlFence : public SqlFence<mysql_scene> {
protected:
    // Sells one, with the raise before or after the read.
    asio::awaitable<void> sell(bool raises_first) {
        const auto work = [raises_first](db::mysql_connection& on) -> asio::awaitable<void> {
            if (raises_first)
                co_await sql_fence::raise(on, "s", token(2));
            const auto found = co_await ask(on, "SELECT amount FROM stock WHERE id = 1");
            if (!raises_first)
                co_await sql_fence::raise(on, "s", token(2));
            const auto left = std::to_string(found.first().integer("amount") - 1);
            co_await ask(on, "UPDATE stock SET amount = " + left + " WHERE id = 1");
        };
        co_await transaction(session, work, {.level = db::isolation::repeatable_read});
    }
};

// As the documents say: the snapshot begins with the first read, not with the raise.
TEST_F(MysqlFence, ARaiseAfterTheFirstReadOfASnapshotIsTooLate) {
    for (const bool raises_first : {true, false}) {
        sql("DELETE FROM mortise_fence");
        sql("UPDATE stock SET amount = 10");
        EXPECT_EQ(raise("s", token(1)), error_code());
        const auto sell_one = [](auto& on) -> asio::awaitable<void> {
            co_await sql_fence::admit(on, "s", token(1));
            co_await ask(on, "UPDATE stock SET amount = 9 WHERE id = 1");
        };
        pausing_transaction<SqlScene<mysql_scene>, decltype(sell_one)> older(*this, sell_one);
        const auto newer = start(sell(raises_first));
        run_until([&] { return scene.waiting() == 1; });
        older.go_on(*this);
        run_until_all_ended({older.end, newer});
        EXPECT_EQ(amount(), raises_first ? 8 : 9) << "a sale is lost if it read before its raise";
    }
}

}  // namespace
}  // namespace mortise::test
