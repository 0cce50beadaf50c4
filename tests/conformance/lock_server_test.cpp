// SPDX-License-Identifier: BSL-1.0
// The model of a distant store on which the simulation relies: it keeps what stores promise.
#include "conformance/port_conformance.hpp"
#include "conformance/simulated_harness.hpp"
#include "mortise/sim/lock_server.hpp"

namespace mortise::test {
namespace {

/// A simulated lock server.
class lock_server_harness final : public simulated_harness {
public:
    ~lock_server_harness() override { world().end(); }

    static store_abilities abilities() { return abilities_of<lock_server_harness>(); }
    std::unique_ptr<store> make_store() override { return server_.make_store(clients()); }
    std::size_t residue() override { return server_.sessions() + server_.entries(); }
    void lose_pushes(std::size_t count) override { server_.lose_pushes(count); }
    void restart(bool with_memory) override {
        server_.restart_after(std::chrono::milliseconds(1), with_memory);
    }

private:
    std::vector<const sim::process*> servers() override { return {&server_.host()}; }

    sim::lock_server server_{world(), "server"};
};

// Users cannot choose this store, so it has no line of its own in the table of guarantees.
MORTISE_ALL_SUITES(LockServer, lock_server_harness)

}  // namespace
}  // namespace mortise::test
