// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_SQL_STORE_SERVER_HPP
#define MORTISE_TESTS_SUPPORT_SQL_STORE_SERVER_HPP

#include "support/server_faults.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace mortise::test {

/// A database server of the test's own with a lock store in it, as tests with real processes use
/// it: they harm it, and count the rows of the store.
///
/// @par Threads One at a time: the one that made it, with which the server dies.
class sql_store_server {
public:
    virtual ~sql_store_server() = default;
    sql_store_server() = default;
    sql_store_server(const sql_store_server&) = delete;
    sql_store_server& operator=(const sql_store_server&) = delete;

    /// Of the store.
    virtual std::string url() const = 0;

    /// Ends the connections of all clients, as an administrator does.
    virtual void end_connections() = 0;
    /// SIGSTOP and SIGCONT for all of its processes.
    virtual void suspend() = 0;
    virtual void resume() = 0;
    /// Stops it in order and starts it.
    virtual void restart() = 0;
    /// Kills it and starts it.
    virtual void crash() = 0;
    /// Of a server that was made with `preloads::faults`.
    virtual server_faults& faults() = 0;

    /// How many hold the lock or wait for it. Zero before the store has been used.
    std::int64_t parties(const std::string& name) const;
    std::int64_t sessions() const;
    /// What lies there of any session; empty: nothing.
    std::string residue() const;

protected:
    virtual std::int64_t count(const std::string& rows) const = 0;
    /// The tables of the store, and a name as its bytes.
    virtual std::string table(const std::string& name) const = 0;
    virtual std::string bytes(const std::string& name) const = 0;
    virtual std::string holder_column() const = 0;
};

std::unique_ptr<sql_store_server> make_postgres_store_server(preloads library = preloads::nothing);
std::unique_ptr<sql_store_server> make_mariadb_store_server(preloads library = preloads::nothing);

}  // namespace mortise::test

#endif
