// SPDX-License-Identifier: BSL-1.0
// The helpers that all SQL databases have, at a PostgreSQL server.
#include "unit/postgres/postgres_scene.hpp"
#include "unit/sql/optimistic_suite.hpp"

namespace mortise::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, Optimistic, postgres_scene);

}  // namespace
}  // namespace mortise::test
