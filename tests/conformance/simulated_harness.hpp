// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_SIMULATED_HARNESS_HPP
#define MORTISE_TESTS_CONFORMANCE_SIMULATED_HARNESS_HPP

#include "conformance/store_harness.hpp"
#include "mortise/sim/network.hpp"
#include "mortise/sim/process.hpp"
#include "mortise/sim/world.hpp"

#include <vector>

namespace mortise::test {

/// Clients and peers in one simulated process, the servers of the store in others, and between them
/// a network that is late but loses nothing by itself. The destructor of a derived class must end
/// the world before its servers are destroyed.
class simulated_harness : public store_harness {
public:
    asio::any_io_executor executor() override { return clients_.get_executor(); }
    std::shared_ptr<coro::time_source> time() override { return clients_.time(); }
    bool simulates_time() const override { return true; }
    std::chrono::milliseconds ttl() const override { return std::chrono::milliseconds(3'000); }

    bool run_until(const std::function<bool()>& done, clock::duration limit) override {
        return world_.run_until(done, limit);
    }

    // Cuts the ways from the servers until `count` messages were lost.
    void lose_replies(std::size_t count) override {
        sim::network& net = world_.net();
        std::vector<sim::link*> ways;
        for (const sim::process* const server : servers()) {
            ways.push_back(&net.between(*server, clients_));
            ways.back()->cut = count != 0;
        }
        world_.watch([&net, ways, until = net.lost() + count](sim::process&) {
            for (sim::link* const way : ways)
                way->cut = way->cut && net.lost() < until;
        });
    }

    void silence(bool silent) override {
        for (const sim::process* const server : servers()) {
            world_.net().between(*server, clients_).cut = silent;
            world_.net().between(clients_, *server).cut = silent;
        }
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
    simulated_harness() {
        clients_.run([](sim::process&) -> asio::awaitable<void> { co_return; });
    }

    /// The processes on which the store lives.
    virtual std::vector<const sim::process*> servers() = 0;

    /// The abilities of a harness whose servers can be restarted.
    template <class Harness>
    static store_abilities abilities_of() {
        store_abilities all;
        all.traits = Harness().make_store()->traits();
        all.loses_replies = all.loses_pushes = all.restarts = all.spoils = true;
        all.silences = all.simulates_time = true;
        return all;
    }

    sim::world& world() noexcept { return world_; }
    sim::process& clients() noexcept { return clients_; }

private:
    bool spoiled_ = false;
    sim::world world_{7};
    sim::process& clients_{world_.add_process("clients")};
};

}  // namespace mortise::test

#endif
