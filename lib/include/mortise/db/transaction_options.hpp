// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_TRANSACTION_OPTIONS_HPP
#define MORTISE_DB_TRANSACTION_OPTIONS_HPP

#include "mortise/coro/backoff.hpp"

#include <chrono>
#include <cstdint>
#include <type_traits>

namespace mortise::db {

/// What a transaction sees of others that run beside it.
enum class isolation : std::uint8_t {
    /// The server's default: for PostgreSQL read committed, for MySQL repeatable read.
    as_configured,
    read_committed,
    repeatable_read,
    serializable,
};

/// The settings of one transaction at a database server.
struct transaction_options {
    isolation level = isolation::as_configured;
    bool read_only = false;
    /// How often the closure may run; at least 1. More than 1 says that the closure can be
    /// repeated: it then runs again, after a pause, when the server has undone the transaction
    /// because of a serialization failure or a deadlock. Nothing else repeats it.
    std::uint32_t attempts_max = 1;
    coro::backoff_options pause{std::chrono::milliseconds(1), std::chrono::milliseconds(100)};
    /// Draw the number of the transaction before its commit, so that a commit whose answer is lost
    /// can be looked up. Costs a round trip for each transaction that may write.
    bool traced = true;
};
static_assert(std::is_trivially_destructible_v<transaction_options>, "docs/compilers.md, G1");

}  // namespace mortise::db

#endif
