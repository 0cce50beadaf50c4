// SPDX-License-Identifier: BSL-1.0
#include "mortise/sim/world.hpp"
#include "sim/backend.hpp"
#include "sim/process_faults.hpp"
#include "zookeeper_model/sim_ensemble.hpp"
#include "zookeeper_model/sim_server.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace mortise::test {
namespace {

using zookeeper_model::sim_ensemble;
using zookeeper_model::sim_server;

/// The ZooKeeper store at a model of an ensemble of three.
class zookeeper_backend final : public backend {
public:
    zookeeper_backend(sim::world& in, zookeeper_form form)
        : world_(in), form_(form), ensemble_(in, servers, drawn_settings(in)) {
        for (std::size_t i = 0; i < servers; ++i)
            set_clock(ensemble_.server(i));
    }

    sim::process& add_client(std::string name) override {
        sim::process& added = world_.add_process(std::move(name));
        added.set_clock_rate(some_rate());
        return added;
    }

    std::unique_ptr<store> make_store(sim::process& client) override {
        zookeeper_store_config config;
        config.form = form_;
        config.servers = ensemble_.addresses();
        config.tick = ensemble_.settings().tick;
        return store_detail::make_zookeeper_store(std::move(config), ensemble_.access(client));
    }

    void misbehave(clock::duration span) override {
        sim_server& one = any_server();
        switch (draw(9)) {
        case 0:
            pause_for(one.host(), span);
            break;
        case 1:
            one.crash();
            world_.after(span, [&one] { one.start(); });
            break;
        case 2:
            crash_for(one.host(), span);
            break;
        case 3:
            for (std::size_t i = 0; i < servers; ++i)
                crash_for(ensemble_.server(i).host(), span);
            break;
        case 4:
        case 5:
            part_servers(one, span);
            break;
        case 6:
            world_.say(one.host().name() + " drops its clients");
            one.host().post([&one] { one.drop_clients(); });
            break;
        case 7:
            one.shift_clock(std::chrono::duration_cast<std::chrono::milliseconds>(-span));
            break;
        default:
            set_clock(one);
        }
    }

    void cut_off(sim::process& client, clock::duration span) override {
        sim_server& one = any_server();
        const std::size_t way = draw(3);
        if (way == 0)
            return cut_off_for(client, one.host(), span);
        for (std::size_t i = 0; i < servers; ++i) {
            sim_server& each = ensemble_.server(i);
            if (way == 2 && &each == &one)
                continue;
            cut_off_for(client, each.host(), span);
            // On an island with one server, which goes on to answer for a while.
            if (way == 2)
                cut_off_for(one.host(), each.host(), span);
        }
    }

    void heal() override {
        for (std::size_t i = 0; i < servers; ++i) {
            sim_server& each = ensemble_.server(i);
            if (!each.host().alive())
                each.host().restart();
            each.host().resume();
            each.start();
        }
    }

    std::string residue() override {
        const auto& tree = ensemble_.tree();
        std::string left;
        for (const auto& each : tree.list("/mortise/sessions").children)
            left += " session " + each;
        const std::string locks = "/mortise/locks";
        for (const auto& each : tree.list(locks).children) {
            if (form_ == zookeeper_form::single_node)
                left += ' ' + each;
            for (const auto& inner : tree.list(locks + '/' + each).children)
                left += ' ' + each + '/' + inner;
        }
        return left.empty() ? left : "nodes:" + left;
    }

private:
    static constexpr std::size_t servers = 3;

    // Long ticks for so short a TTL: what a server has not told its leader yet matters. And in half
    // of the runs sessions are as short as can be: a longer one hides what is wrong with its proof.
    static zookeeper_model::ensemble_settings drawn_settings(sim::world& in) {
        zookeeper_model::ensemble_settings how;
        how.tick = std::chrono::milliseconds(250);
        how.sync_limit = 3;
        if (in.random().below(2) == 0)
            how.session_max = sim_ttl;
        return how;
    }

    std::size_t draw(std::size_t end) { return world_.random().below(end); }
    std::int32_t some_rate() { return static_cast<std::int32_t>(draw(8'001)) - 4'000; }

    /// The leader as often as the others together: what it does matters most.
    sim_server& any_server() {
        sim_server* const leader = ensemble_.leader();
        if (leader && draw(2) == 0)
            return *leader;
        return ensemble_.server(draw(servers));
    }

    void set_clock(sim_server& of) { of.host().set_clock_rate(some_rate()); }

    /// Cuts a server off from one of the others, or from both.
    void part_servers(sim_server& one, clock::duration span) {
        const std::size_t spared = draw(servers);
        for (std::size_t i = 0; i < servers; ++i) {
            if (i != one.index() && i != spared)
                cut_off_for(one.host(), ensemble_.server(i).host(), span);
        }
    }

    sim::world& world_;
    const zookeeper_form form_;
    sim_ensemble ensemble_;
};

}  // namespace

std::unique_ptr<backend> make_zookeeper_backend(sim::world& in) {
    return std::make_unique<zookeeper_backend>(in, zookeeper_form::queue);
}

std::unique_ptr<backend> make_zookeeper_node_backend(sim::world& in) {
    return std::make_unique<zookeeper_backend>(in, zookeeper_form::single_node);
}

}  // namespace mortise::test
