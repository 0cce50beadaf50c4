// SPDX-License-Identifier: BSL-1.0
#include "mortise/sim/world.hpp"
#include "redis_model/sim_redis.hpp"
#include "sim/backend.hpp"
#include "sim/process_faults.hpp"
#include "sim/redis_faults.hpp"
#include "store/redlock/redlock_store.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test {
namespace {

using redis_model::kept;
using redis_model::sim_redis;

/// Three models of independent servers, which fail one at a time or together.
class redlock_backend final : public backend {
public:
    explicit redlock_backend(sim::world& in)
        : world_(in),
          faults_(in),
          nodes_{
              sim_redis(in, "node 0", redis_faults::changes_kept),
              sim_redis(in, "node 1", redis_faults::changes_kept),
              sim_redis(in, "node 2", redis_faults::changes_kept)} {
        for (sim_redis& each : nodes_)
            faults_.prepare(each);
    }

    sim::process& add_client(std::string name) override {
        return faults_.add_client(std::move(name));
    }

    std::unique_ptr<store> make_store(sim::process& client) override {
        redlock_store_config config;
        std::vector<store_detail::redis_wire_factory> wires;
        for (sim_redis& each : nodes_) {
            config.servers.emplace_back(each.host().name(), 6'379);
            wires.push_back(each.wires(client));
        }
        config.longest_ttl = sim_ttl;
        return store_detail::make_redlock_store(config, wires);
    }

    void misbehave(clock::duration span) override {
        sim_redis& node = any_node();
        switch (faults_.draw(9)) {
        case 0:
            pause_for(node.host(), span);
            break;
        case 1:
        case 2:
            restart(node, span);
            break;
        case 3:
            crash_for(node.host(), span);
            break;
        case 4:
            node.lose_pushes(1 + faults_.draw(3));
            break;
        case 5:
            faults_.set_clock(node);
            break;
        case 6:
            faults_.drop_clients(node);
            break;
        case 7:
            // One clock only: a store that has forgotten everything goes on by the latest one.
            world_.say(nodes_[0].host().name() + " sets its clock back");
            nodes_[0].shift_clock(-span);
            break;
        default:
            faults_.refuse(node, span);
        }
    }

    void cut_off(sim::process& client, clock::duration span) override {
        cut_off_for(client, any_node().host(), span);
    }

    void heal() override {
        for (sim_redis& each : nodes_)
            redis_faults::heal(each);
    }

    std::string residue() override {
        std::string left;
        for (sim_redis& each : nodes_) {
            for (const auto& [name, held] : each.model().keys()) {
                if (name != "{mortise:}id" && name != "{mortise:}k")
                    left += ' ' + each.host().name() + ": " + name;
            }
        }
        return left.empty() ? left : "keys of the store:" + left;
    }

private:
    sim_redis& any_node() { return nodes_.at(faults_.draw(nodes_.size())); }

    /// Restarts a node with all its data, with less as after a crash, or empty.
    void restart(sim_redis& node, clock::duration span) {
        constexpr kept ways[] = {kept::all, kept::all, kept::nothing};
        const std::size_t way = faults_.draw(3);
        const std::size_t lost = way == 0 ? 0 : faults_.draw(redis_faults::changes_kept);
        node.restart_after(span, ways[way], lost);
    }

    sim::world& world_;
    redis_faults faults_;
    std::array<sim_redis, 3> nodes_;
};

}  // namespace

std::unique_ptr<backend> make_redlock_backend(sim::world& in) {
    return std::make_unique<redlock_backend>(in);
}

}  // namespace mortise::test
