// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_SESSION_SESSION_KIND_HPP
#define MORTISE_TESTS_UNIT_SESSION_SESSION_KIND_HPP

// The tests of this folder are part of two programs: each promise of sessions with database servers
// is tested at PostgreSQL and at MariaDB.
#ifdef MORTISE_TESTS_OF_MYSQL
#include "unit/mysql/mysql_kind.hpp"
#else
#include "unit/postgres/postgres_kind.hpp"
#endif

#endif
