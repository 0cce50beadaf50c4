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

}  // namespace
}  // namespace mortise::test
