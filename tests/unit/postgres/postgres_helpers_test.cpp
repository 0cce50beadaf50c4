// SPDX-License-Identifier: BSL-1.0
// The helpers that all SQL databases have, at a PostgreSQL server.
#include "unit/postgres/postgres_scene.hpp"
#include "unit/sql/fence_floor_suite.hpp"
#include "unit/sql/fence_suite.hpp"
#include "unit/sql/optimistic_suite.hpp"
#include "unit/sql/row_lock_suite.hpp"
#include "unit/sql/unique_row_suite.hpp"

namespace mortise::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, Optimistic, postgres_scene);
INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, RowLocks, postgres_scene);
INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, SqlFence, postgres_scene);
INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, SqlFenceFloor, postgres_scene);
INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, UniqueRow, postgres_scene);

}  // namespace
}  // namespace mortise::test
