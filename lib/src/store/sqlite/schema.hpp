// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_SCHEMA_HPP
#define MORTISE_STORE_SQLITE_SCHEMA_HPP

#include "mortise/store_types.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace mortise::sqlite_detail {
class sqlite_db;
class sqlite_query;
}  // namespace mortise::sqlite_detail

namespace mortise::store_detail {

/// The identity of a store: what its database says of itself.
struct store_identity {
    store_identity() = default;

    random_id store;
    random_id incarnation;  ///< Drawn anew at each boot of the host.
    std::string boot;
    std::string domain;
};

/// The number by which `file` and SQLite know whose database this is: "mrts".
inline constexpr std::int64_t application_id = 0x6d727473;
inline constexpr std::uint64_t format_major = 1;
inline constexpr std::uint64_t format_minor = 0;

/// How many tokens one forced commit makes durable.
inline constexpr std::uint64_t token_block = 1'000'000;

/// Checks whose database this is, sets up the connection, and makes the tables if the database is
/// empty; a foreign database is left as it is. Called under the lock, outside of a transaction.
/// @throws error `not_a_database`, `not_a_store`, `newer_format`, `bad_config` if the store has
/// another domain than `domain` (empty: any), and what SQLite says.
store_identity open_schema(
    sqlite_detail::sqlite_db& db,
    const std::string& path,
    const std::string& domain,
    const std::string& boot
);

/// Begins anew when nobody who used the store is alive: forgets all sessions and what they held,
/// goes to the mark of the tokens, and raises it, durably. The store gets a new incarnation if the
/// host was started again since. Nothing is granted before `quarantine_until`.
void begin_epoch(
    sqlite_detail::sqlite_db& db,
    const std::string& path,
    store_identity& identity,
    const std::string& boot,
    clock::time_point quarantine_until
);

/// The longest that a session lives without a heartbeat.
inline constexpr std::chrono::hours session_ttl_max(1);

/// Reads from a column of the meta record until when nothing is granted. A time further away than
/// the longest life of a session fails the connection.
clock::time_point
quarantine_in(sqlite_detail::sqlite_query& query, int column, clock::time_point now);

/// Raises the mark of the tokens by a block, durably. Called outside of a transaction. @return
/// whether it worked.
bool reserve_tokens(sqlite_detail::sqlite_db& db);

}  // namespace mortise::store_detail

#endif
