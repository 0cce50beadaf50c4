// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_PGBOUNCER_HPP
#define MORTISE_TESTS_SUPPORT_PGBOUNCER_HPP

#include "support/child_program.hpp"
#include "support/port_reservation.hpp"
#include "support/postgres_server.hpp"

#include <optional>
#include <string>

namespace mortise::test {

/// A PgBouncer in transaction mode before a server of the test's own. It answers when the
/// constructor returns, and dies with the test.
///
/// @par Threads   One at a time: the one that made it, with which it dies.
/// @par Lifetimes `server` must outlive it.
class pgbouncer {
public:
    /// @throws std::runtime_error with its log, if it does not answer
    explicit pgbouncer(const postgres_server& server);

    /// The URL of a database of the server, by this way.
    std::string url(const std::string& database = "postgres") const;

private:
    const port_reservation port_;
    std::optional<child_program> process_;
};

}  // namespace mortise::test

#endif
