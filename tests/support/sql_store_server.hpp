// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_SQL_STORE_SERVER_HPP
#define MORTISE_TESTS_SUPPORT_SQL_STORE_SERVER_HPP

#include "support/server_faults.hpp"
#include "support/store_server.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace mortise::test {

/// A database server with a lock store in it.
class sql_store_server : public store_server {
public:
    /// Of a server that was made with `preloads::faults`.
    virtual server_faults& faults() = 0;

    std::int64_t parties(const std::string& name) const override;
    std::int64_t sessions() const override;
    std::string residue() const override;

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
