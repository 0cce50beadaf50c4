// SPDX-License-Identifier: BSL-1.0
// The shell of SQL stores on a model of a server: it keeps what stores promise.
#include "conformance/port_conformance.hpp"
#include "mortise/sim/world.hpp"
#include "sql_model/sim_sql.hpp"

namespace mortise::test {
namespace {

/// Clients and peers in one simulated process, the server in another one, and between them a
/// network that is late but loses nothing by itself.
class sql_harness : public store_harness {
public:
    sql_harness() {
        clients_.run([](sim::process&) -> asio::awaitable<void> { co_return; });
    }
    ~sql_harness() override { world_.end(); }

    static store_abilities abilities() {
        store_abilities all;
        all.traits = sql_harness().make_store()->traits();
        all.loses_replies = all.loses_pushes = all.restarts = all.spoils = true;
        all.silences = all.simulates_time = true;
        return all;
    }

    std::unique_ptr<store> make_store() override { return server_.make_store(clients_); }
    asio::any_io_executor executor() override { return clients_.get_executor(); }
    std::shared_ptr<coro::time_source> time() override { return clients_.time(); }
    bool simulates_time() const override { return true; }
    std::chrono::milliseconds ttl() const override { return std::chrono::milliseconds(3'000); }

    bool run_until(const std::function<bool()>& done, clock::duration limit) override {
        return world_.run_until(done, limit);
    }

    std::size_t residue() override { return server_.sessions() + server_.parties(); }

    // Cuts the way from the server until `count` messages were lost.
    void lose_replies(std::size_t count) override {
        sim::network& net = world_.net();
        sim::link& back = net.between(server_.host(), clients_);
        back.cut = count != 0;
        world_.watch([&net, &back, until = net.lost() + count](sim::process&) {
            back.cut = back.cut && net.lost() < until;
        });
    }

    void lose_pushes(std::size_t count) override { server_.lose_pushes(count); }

    void restart(bool with_memory) override {
        server_.restart_after(std::chrono::milliseconds(1), with_memory);
    }

    void silence(bool silent) override {
        world_.net().between(server_.host(), clients_).cut = silent;
        world_.net().between(clients_, server_.host()).cut = silent;
    }

    void spoil(std::size_t nth, sim::fate how) override {
        spoiled_ = false;
        world_.net().decide([this, at = world_.net().sent() + nth, how](std::uint64_t sent) {
            if (sent != at || how == sim::fate::as_usual)
                return sim::fate::as_usual;
            spoiled_ = true;
            return how;
        });
    }
    bool spoiled() const override { return spoiled_; }

protected:
    sql_model::sim_sql& server() noexcept { return server_; }

private:
    bool spoiled_ = false;
    sim::world world_{7};
    sql_model::sim_sql server_{world_, "sql"};
    sim::process& clients_{world_.add_process("clients")};
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
