// SPDX-License-Identifier: BSL-1.0
#include "chaos/chaos_store.hpp"
#include "support/sql_store_server.hpp"

#include <utility>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

class sql_chaos_store final : public chaos_store {
public:
    explicit sql_chaos_store(std::unique_ptr<sql_store_server> server)
        : server_(std::move(server)) {}

    std::string address() const override { return server_->url(); }
    std::chrono::milliseconds ttl() const override { return 1s; }
    std::chrono::milliseconds takeover_max() const override { return 1'100ms; }

    std::int64_t parties(const std::string& name) override { return server_->parties(name); }
    std::int64_t sessions() override { return server_->sessions(); }
    bool empty() override { return server_->residue().empty(); }

    void suspend() override { server_->suspend(); }
    void resume() override { server_->resume(); }
    void end_connections() override { server_->end_connections(); }
    void restart() override { server_->restart(); }

private:
    const std::unique_ptr<sql_store_server> server_;
};

}  // namespace

#ifdef MORTISE_STORE_AT_POSTGRES
std::unique_ptr<chaos_store> make_postgres_chaos_store() {
    return std::make_unique<sql_chaos_store>(make_postgres_store_server());
}
#endif

#ifdef MORTISE_STORE_AT_MARIADB
std::unique_ptr<chaos_store> make_mysql_chaos_store() {
    return std::make_unique<sql_chaos_store>(make_mariadb_store_server());
}
#endif

}  // namespace mortise::test
