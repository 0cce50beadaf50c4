// SPDX-License-Identifier: BSL-1.0
#include "mortise/sim/world.hpp"
#include "sim/backend.hpp"
#include "sim/process_faults.hpp"
#include "sql_model/sim_sql.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace mortise::test {
namespace {

/// The shell of SQL stores on a model of a server. Each of its messages can be lost or late, and
/// each client can be stopped between any two.
class sql_backend final : public backend {
public:
    explicit sql_backend(sim::world& in) : world_(in), server_(in, "sql") {}

    sim::process& add_client(std::string name) override {
        sim::process& added = world_.add_process(std::move(name));
        added.set_clock_rate(static_cast<std::int32_t>(world_.random().below(8'001)) - 4'000);
        return added;
    }

    std::unique_ptr<store> make_store(sim::process& client) override {
        return server_.make_store(client);
    }

    void misbehave(clock::duration span) override {
        sim::process& host = server_.host();
        switch (world_.random().below(6)) {
        case 0:
            pause_for(host, span);
            break;
        case 1:
            server_.restart_after(span, true);
            break;
        case 2:
            server_.restart_after(span, false);
            break;
        case 3:
            server_.lose_pushes(1 + world_.random().below(3));
            break;
        case 4:
            // Who loses three times locks the row, and may be stopped or cut off then.
            server_.lose_writes(world_.random().below(8));
            server_.close_short_ways(true);
            world_.after(span, [this] { server_.close_short_ways(false); });
            break;
        default:
            host.set_clock_rate(static_cast<std::int32_t>(world_.random().below(8'001)) - 4'000);
        }
    }

    void cut_off(sim::process& client, clock::duration span) override {
        cut_off_for(client, server_.host(), span);
    }

    void heal() override {
        server_.lose_pushes(0);
        server_.lose_writes(0);
        server_.close_short_ways(false);
        server_.host().resume();
    }

    std::string residue() override {
        if (server_.doubles() != 0)
            return std::to_string(server_.doubles()) + " second entries of one request";
        if (server_.parties() == 0 && server_.sessions() == 0)
            return {};
        return std::to_string(server_.parties()) + " entries and " +
               std::to_string(server_.sessions()) + " sessions at the server";
    }

private:
    sim::world& world_;
    sql_model::sim_sql server_;
};

}  // namespace

std::unique_ptr<backend> make_sql_backend(sim::world& in) {
    return std::make_unique<sql_backend>(in);
}

}  // namespace mortise::test
