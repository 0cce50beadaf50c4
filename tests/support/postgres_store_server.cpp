// SPDX-License-Identifier: BSL-1.0
#include "support/postgres_server.hpp"
#include "support/sql_store_server.hpp"

namespace mortise::test {
namespace {

class postgres_store_server final : public sql_store_server {
public:
    explicit postgres_store_server(preloads library) : server_({}, library) {}

    std::string url() const override { return server_.url(); }

    void end_connections() override {
        server_.run("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                    " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'");
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
        if (server_.run("SELECT to_regclass('" + name + "')").empty())
            return 0;
        return std::stoll(server_.run("SELECT count(*) FROM " + rows));
    }
    std::string table(const std::string& name) const override { return "mortise." + name; }
    std::string bytes(const std::string& name) const override {
        return "convert_to('" + name + "', 'UTF8')";
    }
    std::string holder_column() const override { return "holder"; }

private:
    postgres_server server_;
};

}  // namespace

std::unique_ptr<sql_store_server> make_postgres_store_server(preloads library) {
    return std::make_unique<postgres_store_server>(library);
}

}  // namespace mortise::test
