// SPDX-License-Identifier: BSL-1.0
#include "mortise/sim/lock_server.hpp"
#include "mortise/sim/world.hpp"
#include "sim/backend.hpp"
#include "sim/process_faults.hpp"
#include "support/paired_store.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test {
namespace {

/// One lock server, or two of them that fail one at a time.
class server_backend final : public backend {
public:
    server_backend(sim::world& in, bool two) : world_(in) {
        servers_.push_back(std::make_unique<sim::lock_server>(in, "server"));
        if (two)
            servers_.push_back(std::make_unique<sim::lock_server>(in, "other server"));
    }

    sim::process& add_client(std::string name) override {
        sim::process& added = world_.add_process(std::move(name));
        added.set_clock_rate(static_cast<std::int32_t>(world_.random().below(8'001)) - 4'000);
        return added;
    }

    std::unique_ptr<store> make_store(sim::process& client) override {
        if (servers_.size() == 1)
            return servers_[0]->make_store(client);
        return make_paired_store(servers_[0]->make_store(client), servers_[1]->make_store(client));
    }

    void misbehave(clock::duration span) override {
        sim::lock_server& server = any_server();
        sim::process& host = server.host();
        switch (world_.random().below(5)) {
        case 0:
            pause_for(host, span);
            break;
        case 1:
            server.restart_after(span, true);
            break;
        case 2:
            server.restart_after(span, false);
            break;
        case 3:
            server.lose_pushes(1 + world_.random().below(3));
            break;
        default:
            host.set_clock_rate(static_cast<std::int32_t>(world_.random().below(8'001)) - 4'000);
        }
    }

    void cut_off(sim::process& client, clock::duration span) override {
        cut_off_for(client, any_server().host(), span);
    }

    void heal() override {
        for (const auto& each : servers_) {
            each->lose_pushes(0);
            each->host().resume();
        }
    }

    std::string residue() override {
        std::size_t entries = 0;
        std::size_t sessions = 0;
        for (const auto& each : servers_) {
            entries += each->entries();
            sessions += each->sessions();
        }
        if (entries == 0 && sessions == 0)
            return {};
        return std::to_string(entries) + " entries and " + std::to_string(sessions) +
               " sessions at the server";
    }

private:
    // A single server is not drawn: each seed then has the run that it always had.
    sim::lock_server& any_server() {
        return *servers_[servers_.size() == 1 ? 0 : world_.random().below(servers_.size())];
    }

    sim::world& world_;
    std::vector<std::unique_ptr<sim::lock_server>> servers_;
};

}  // namespace

std::unique_ptr<backend> make_server_backend(sim::world& in) {
    return std::make_unique<server_backend>(in, false);
}

std::unique_ptr<backend> make_server_pair_backend(sim::world& in) {
    return std::make_unique<server_backend>(in, true);
}

std::unique_ptr<backend> make_backend(std::string_view name, sim::world& in) {
    if (name == "server")
        return make_server_backend(in);
    if (name == "pair")
        return make_server_pair_backend(in);
    if (name == "sqlite")
        return make_sqlite_backend(in);
    if (name == "redis")
        return make_redis_backend(in);
    if (name == "redlock")
        return make_redlock_backend(in);
    if (name == "sql")
        return make_sql_backend(in);
#ifdef MORTISE_TESTS_ZOOKEEPER_MODEL
    if (name == "zookeeper")
        return make_zookeeper_backend(in);
    if (name == "zookeeper_nodes")
        return make_zookeeper_node_backend(in);
#endif
    return nullptr;
}

std::vector<std::string> backend_names() {
    return {
        "server",
        "pair",
        "sqlite",
        "redis",
        "redlock",
        "sql",
#ifdef MORTISE_TESTS_ZOOKEEPER_MODEL
        "zookeeper",
        "zookeeper_nodes",
#endif
    };
}

}  // namespace mortise::test
