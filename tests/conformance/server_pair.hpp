// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_SERVER_PAIR_HPP
#define MORTISE_TESTS_CONFORMANCE_SERVER_PAIR_HPP

#include "conformance/simulated_harness.hpp"
#include "mortise/sim/lock_server.hpp"
#include "support/paired_store.hpp"

#include <string>
#include <vector>

namespace mortise::test {

/// Two simulated lock servers that fail one at a time: each has the locks of half of the names.
class server_pair final : public simulated_harness {
public:
    ~server_pair() override { world().end(); }

    static store_abilities abilities() { return abilities_of<server_pair>(); }
    std::unique_ptr<store> make_store() override {
        return make_paired_store(first_.make_store(clients()), second_.make_store(clients()));
    }
    std::vector<std::string> names_at_servers() const override { return {lock_at(0), lock_at(1)}; }

    std::size_t residue() override {
        return first_.sessions() + first_.entries() + second_.sessions() + second_.entries();
    }
    void lose_pushes(std::size_t count) override {
        first_.lose_pushes(count);
        second_.lose_pushes(count);
    }
    void restart(bool with_memory) override {
        first_.restart_after(std::chrono::milliseconds(1), with_memory);
        second_.restart_after(std::chrono::milliseconds(1), with_memory);
    }

    /// The name of a lock at that server.
    static std::string lock_at(proof_number number) {
        std::string name = "a door";
        while (half_of(name) != number)
            name += '!';
        return name;
    }
    sim::lock_server& server(proof_number number) { return number == 0 ? first_ : second_; }
    /// Cuts the clients off from one of the servers.
    void cut_off(proof_number number) { world().net().part(clients(), server(number).host()); }
    void heal() { world().net().heal(); }

private:
    std::vector<const sim::process*> servers() override {
        return {&first_.host(), &second_.host()};
    }

    sim::lock_server first_{world(), "first"};
    sim::lock_server second_{world(), "second"};
};

}  // namespace mortise::test

#endif
