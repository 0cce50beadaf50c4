// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_SERVER_LIMITS_HPP
#define MORTISE_DB_SERVER_LIMITS_HPP

#include "mortise/coro/time_source.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace mortise::db {

/// The limits of a session with a database server, of whichever kind.
class server_limits {
public:
    server_limits() = default;  // declared: no aggregate (docs/compilers.md, G3)

    std::size_t connections_max = 8;  ///< 1 to 1,000.
    /// Transactions that may wait for a connection.
    std::size_t queue_max = 4'096;
    /// How long a transaction waits for a connection, if all are in use.
    std::chrono::milliseconds wait_max{30'000};
    /// How long to wait for a new connection, with the look-up of the server's name; and for a sign
    /// of life of one that was idle.
    std::chrono::milliseconds connect_max{5'000};
    /// How long a cancelled statement, or a rollback, may take to end, before its connection is
    /// given up.
    std::chrono::milliseconds cancel_max{2'000};
    /// How long the server may take to begin or to commit a transaction, before the connection is
    /// given up.
    std::chrono::milliseconds answer_max{30'000};
    /// How long a connection that alone can end what it has prepared waits for that, before it is
    /// closed: then any other can. Of MariaDB; see `server_database::async_prepare`.
    std::chrono::milliseconds prepared_max{10'000};
    /// A connection that has lived for longer is replaced, when no transaction uses it.
    std::chrono::milliseconds lifetime_max{1'800'000};
    /// A connection that was idle for longer is asked for a sign of life before it is used.
    std::chrono::milliseconds check_after{1'000};

    /// Prepared statements that each connection keeps.
    std::size_t statements_max = 128;

    /// The seed of the pauses between attempts; zero: a random one.
    std::uint64_t jitter_seed = 0;

    /// The time source of all limits; null: the real time.
    std::shared_ptr<coro::time_source> time;
};

}  // namespace mortise::db

#endif
