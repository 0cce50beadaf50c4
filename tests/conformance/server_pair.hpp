// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_SERVER_PAIR_HPP
#define MORTISE_TESTS_CONFORMANCE_SERVER_PAIR_HPP

#include "conformance/store_harness.hpp"
#include "mortise/sim/lock_server.hpp"
#include "mortise/sim/world.hpp"
#include "support/paired_store.hpp"

#include <array>
#include <string>
#include <vector>

namespace mortise::test {

/// Clients in one simulated process, and two lock servers that fail one at a time: each has the
/// locks of half of the names.
class server_pair final : public store_harness {
public:
    server_pair() {
        clients_.run([](sim::process&) -> asio::awaitable<void> { co_return; });
    }
    ~server_pair() override { world_.end(); }

    static store_abilities abilities() {
        store_abilities all;
        all.traits = server_pair().make_store()->traits();
        all.loses_replies = all.loses_pushes = all.restarts = all.spoils = true;
        all.silences = all.simulates_time = true;
        return all;
    }

    std::unique_ptr<store> make_store() override {
        return make_paired_store(first_.make_store(clients_), second_.make_store(clients_));
    }
    std::vector<std::string> names_at_servers() const override { return {lock_at(0), lock_at(1)}; }
    asio::any_io_executor executor() override { return clients_.get_executor(); }
    std::shared_ptr<coro::time_source> time() override { return clients_.time(); }
    bool simulates_time() const override { return true; }
    std::chrono::milliseconds ttl() const override { return std::chrono::milliseconds(3'000); }

    bool run_until(const std::function<bool()>& done, clock::duration limit) override {
        return world_.run_until(done, limit);
    }

    std::size_t residue() override {
        return first_.sessions() + first_.entries() + second_.sessions() + second_.entries();
    }

    // Cuts the ways from the servers until `count` messages were lost.
    void lose_replies(std::size_t count) override {
        sim::network& net = world_.net();
        const std::array<sim::link*, 2> ways{
            &net.between(first_.host(), clients_), &net.between(second_.host(), clients_)};
        for (sim::link* const way : ways)
            way->cut = count != 0;
        world_.watch([&net, ways, until = net.lost() + count](sim::process&) {
            for (sim::link* const way : ways)
                way->cut = way->cut && net.lost() < until;
        });
    }

    void lose_pushes(std::size_t count) override {
        first_.lose_pushes(count);
        second_.lose_pushes(count);
    }

    void restart(bool with_memory) override {
        first_.restart_after(std::chrono::milliseconds(1), with_memory);
        second_.restart_after(std::chrono::milliseconds(1), with_memory);
    }

    void silence(bool silent) override {
        world_.net().between(first_.host(), clients_).cut = silent;
        world_.net().between(clients_, first_.host()).cut = silent;
        world_.net().between(second_.host(), clients_).cut = silent;
        world_.net().between(clients_, second_.host()).cut = silent;
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

    /// The name of a lock at that server.
    static std::string lock_at(proof_number number) {
        std::string name = "a door";
        while (half_of(name) != number)
            name += '!';
        return name;
    }
    sim::lock_server& server(proof_number number) { return number == 0 ? first_ : second_; }
    /// Cuts the clients off from one of the servers.
    void cut_off(proof_number number) { world_.net().part(clients_, server(number).host()); }
    void heal() { world_.net().heal(); }

private:
    bool spoiled_ = false;
    sim::world world_{7};
    sim::lock_server first_{world_, "first"};
    sim::lock_server second_{world_, "second"};
    sim::process& clients_{world_.add_process("clients")};
};

}  // namespace mortise::test

#endif
