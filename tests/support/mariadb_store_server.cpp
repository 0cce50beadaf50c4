// SPDX-License-Identifier: BSL-1.0
#include "support/mariadb_server.hpp"
#include "support/sql_store_server.hpp"

#include <algorithm>
#include <stdexcept>

namespace mortise::test {
namespace {

class mariadb_store_server final : public sql_store_server {
public:
    explicit mariadb_store_server(preloads library)
        : server_(mariadb_server::settings{"--max-connections=300"}, library) {}

    std::string url() const override { return server_.url(database_); }

    void end_connections() override {
        const auto all = server_.run(
            "SELECT GROUP_CONCAT(CONCAT('KILL ', id) SEPARATOR '; ') FROM"
            " information_schema.processlist WHERE id <> CONNECTION_ID() AND user = '" +
            std::string(mariadb_server::user) + "'"
        );
        for (std::size_t from = 0; from < all.size();) {
            const auto end = std::min(all.find(';', from), all.size());
            try {
                server_.run(all.substr(from, end - from));
            } catch (const std::runtime_error&) {
                // it has ended by itself
            }
            from = end + 1;
        }
    }
    void suspend() override { server_.suspend(); }
    void resume() override { server_.resume(); }
    void restart() override { server_.restart(); }
    void crash() override {
        server_.kill();
        server_.start();
    }
    server_faults& faults() override { return server_.faults(); }

protected:
    std::int64_t count(const std::string& rows) const override {
        const auto name = rows.substr(0, rows.find(' '));
        if (server_.run("SHOW TABLES LIKE '" + name + '\'', database_).empty())
            return 0;
        return std::stoll(server_.run("SELECT count(*) FROM " + rows, database_));
    }
    std::string table(const std::string& name) const override { return "mortise_" + name; }
    std::string bytes(const std::string& name) const override { return '\'' + name + '\''; }
    std::string holder_column() const override { return "NULLIF(held, 0)"; }

private:
    mariadb_server server_;
    const std::string database_ = server_.create_database("locks");
};

}  // namespace

std::unique_ptr<sql_store_server> make_mariadb_store_server(preloads library) {
    return std::make_unique<mariadb_store_server>(library);
}

}  // namespace mortise::test
