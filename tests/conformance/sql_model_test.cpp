// SPDX-License-Identifier: BSL-1.0
// The shell of SQL stores on a model of a server: it keeps what stores promise.
#include "conformance/port_conformance.hpp"
#include "conformance/simulated_harness.hpp"
#include "sql_model/sim_sql.hpp"

namespace mortise::test {
namespace {

/// A simulated SQL server.
class sql_harness : public simulated_harness {
public:
    ~sql_harness() override { world().end(); }

    static store_abilities abilities() { return abilities_of<sql_harness>(); }
    std::unique_ptr<store> make_store() override { return server_.make_store(clients()); }
    std::size_t residue() override { return server_.sessions() + server_.parties(); }
    void lose_pushes(std::size_t count) override { server_.lose_pushes(count); }
    void restart(bool with_memory) override {
        server_.restart_after(std::chrono::milliseconds(1), with_memory);
    }

protected:
    sql_model::sim_sql& server() noexcept { return server_; }

private:
    std::vector<const sim::process*> servers() override { return {&server_.host()}; }

    sql_model::sim_sql server_{world(), "sql"};
};

/// The same without short ways: each operation loads the lock, runs the engine, and writes it.
class general_way_harness final : public sql_harness {
public:
    general_way_harness() { server().close_short_ways(true); }
};

// Users cannot choose this store, so it has no line of its own in the table of guarantees.
MORTISE_ALL_SUITES(SqlModel, sql_harness)
MORTISE_PORT_SUITES(SqlGeneralWay, general_way_harness)
MORTISE_SWEEP(SqlGeneralWay, FaultSweep, general_way_harness)

}  // namespace
}  // namespace mortise::test
