// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_POSTGRES_STATS_HPP
#define MORTISE_DB_POSTGRES_STATS_HPP

#include "mortise/db/server_stats.hpp"

namespace mortise::db {

using postgres_stats = server_stats;

}  // namespace mortise::db

#endif
