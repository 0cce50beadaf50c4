// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_LOG_LOG_SCHEMA_HPP
#define MORTISE_TXN_LOG_LOG_SCHEMA_HPP

#include "mortise/db/connection.hpp"

#include <cstdint>
#include <optional>

namespace mortise::txn::log {

/// The fixed properties of a log.
struct log_facts {
    std::uint64_t id = 0;  ///< Random.
    std::uint32_t partitions = 0;
};

/// The tables of a log: creates them, upgrades those of an older format, and reads whose log it is.
/// Each statement runs in the transaction of its caller.
///
/// @par Errors Members throw `error` with the code of SQLite.
class log_schema {
public:
    /// Creates the log `fresh` if there is none. Else checks the log, and upgrades an older format.
    /// @throws error `not_a_log`, `newer_log`, `log_corrupt`
    static log_facts prepare(db::connection& on, const log_facts& fresh);

    /// Reads the log's properties; empty if the database is empty: no coordinator has made tables.
    /// @throws error `not_a_log`, `newer_log`, `log_corrupt`
    static std::optional<log_facts> look(db::connection& on);

    /// Returns the log's id; zero if the database is empty. @throws error as `look`
    static std::uint64_t log_id(db::connection& on);
};

}  // namespace mortise::txn::log

#endif
