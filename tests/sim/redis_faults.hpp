// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SIM_REDIS_FAULTS_HPP
#define MORTISE_TESTS_SIM_REDIS_FAULTS_HPP

#include "core/planted_bug.hpp"
#include "mortise/sim/process.hpp"
#include "mortise/sim/world.hpp"
#include "redis_model/sim_redis.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

namespace mortise::test {

/// What befalls models of Redis servers and their clients, whatever store they keep.
class redis_faults {
public:
    /// So many of the last changes of a server can be lost.
    static constexpr std::size_t changes_kept = 50;

    explicit redis_faults(sim::world& in) : world_(in) {}

    std::size_t draw(std::size_t end) { return world_.random().below(end); }

    sim::process& add_client(std::string name) {
        sim::process& added = world_.add_process(std::move(name));
        added.set_clock_rate(some_rate());
        return added;
    }

    /// Prepares a server that has just been made.
    void prepare(redis_model::sim_redis& server) {
        if (MORTISE_PLANTED(restart_without_quarantine))
            server.model().hide_restarts();
        set_clock(server);
    }

    // Plants a bug by clocks that are much too fast: they end sessions too early.
    void set_clock(redis_model::sim_redis& server) {
        constexpr std::int32_t too_fast = 110'000;
        server.host().set_clock_rate(MORTISE_PLANTED(session_cut_short) ? too_fast : some_rate());
    }

    void drop_clients(redis_model::sim_redis& server) {
        world_.say(server.host().name() + " resets its connections and forgets its scripts");
        server.drop_clients();
        server.model().forget_scripts();
    }

    /// Makes a server refuse commands although it is up.
    void refuse(redis_model::sim_redis& server, clock::duration span) {
        auto& wrong = server.model().wrong();
        bool* const conditions[] = {
            &wrong.out_of_memory,
            &wrong.read_only,
            &wrong.loading,
            &wrong.busy,
            &wrong.disk_failed};
        const std::size_t condition = draw(std::size(conditions));
        world_.say(server.host().name() + " refuses, way " + std::to_string(condition));
        *conditions[condition] = true;
        world_.after(span, [off = conditions[condition]] { *off = false; });
    }

    static void heal(redis_model::sim_redis& server) {
        server.model().wrong() = {};
        server.lose_pushes(0);
        if (!server.host().alive())
            server.host().restart();
        server.host().resume();
        server.start();
    }

private:
    std::int32_t some_rate() { return static_cast<std::int32_t>(draw(8'001)) - 4'000; }

    sim::world& world_;
};

}  // namespace mortise::test

#endif
