// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_REDLOCK_MODEL_HARNESS_HPP
#define MORTISE_TESTS_CONFORMANCE_REDLOCK_MODEL_HARNESS_HPP

#include "conformance/simulated_harness.hpp"
#include "redis_model/sim_redis.hpp"
#include "store/redlock/redlock_store.hpp"
#include "support/amount.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace mortise::test {

/// A Redlock store at three models of servers.
class redlock_model_harness : public simulated_harness {
public:
    ~redlock_model_harness() override { world().end(); }

    static store_abilities abilities() {
        auto all = abilities_of<redlock_model_harness>();
        all.restarts = false;  // One node at a time may forget: redlock_fault_test.cpp, simulation.
        return all;
    }

    std::unique_ptr<store> make_store() override {
        redlock_store_config config;
        std::vector<store_detail::redis_wire_factory> wires;
        for (auto& each : nodes_) {
            config.servers.emplace_back(each.host().name(), 6'379);
            wires.push_back(each.wires(clients()));
        }
        config.longest_ttl = longest_ttl_;
        config.assume_new = true;
        return store_detail::make_redlock_store(config, wires);
    }
    void expect_ttl(std::chrono::milliseconds longest) override { longest_ttl_ = longest; }

    std::size_t residue() override {
        pass(std::chrono::milliseconds(50)
        );  // What a majority has answered is over elsewhere, too.
        std::size_t count = 0;
        for (auto& each : nodes_) {
            for (const auto& [name, held] : each.model().keys())
                count += name != "{mortise:}id" && name != "{mortise:}k";
        }
        return count;
    }

    std::string left() override {
        std::string text;
        for (auto& each : nodes_) {
            for (const auto& [name, held] : each.model().keys())
                text += name + ", ";
            text += "at " + each.host().name() + "; ";
        }
        return text;
    }

    // One of each node: a majority would be answer enough.
    void lose_replies(std::size_t count) override {
        simulated_harness::lose_replies(count * nodes_.size());
    }
    void lose_pushes(std::size_t count) override {
        for (auto& each : nodes_)
            each.lose_pushes(count);
    }

    /// One of the three servers.
    redis_model::sim_redis& node(std::size_t index) { return nodes_.at(index); }

    bool pushes_are_hints() const override { return true; }
    bool ends_at_once() const override { return false; }
    unsigned sessions_of_a_holder() const override { return 2; }
    std::size_t cost_of_a_step() const override { return amount("MORTISE_REDLOCK_STRIDE", 8, 8); }
    std::size_t many_names() const override { return 5'000; }

private:
    std::vector<const sim::process*> servers() override {
        return {&nodes_[0].host(), &nodes_[1].host(), &nodes_[2].host()};
    }

    std::chrono::milliseconds longest_ttl_ = ttl();
    std::array<redis_model::sim_redis, 3> nodes_{
        redis_model::sim_redis(world(), "one"),
        redis_model::sim_redis(world(), "two"),
        redis_model::sim_redis(world(), "three")};
};

}  // namespace mortise::test

#endif
