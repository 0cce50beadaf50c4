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

}  // namespace
}  // namespace mortise::test
