// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_ZOOKEEPER_MODEL_HARNESS_HPP
#define MORTISE_TESTS_CONFORMANCE_ZOOKEEPER_MODEL_HARNESS_HPP

#include "conformance/simulated_harness.hpp"
#include "store/zookeeper/ensemble_access.hpp"
#include "zookeeper_model/sim_ensemble.hpp"
#include "zookeeper_model/sim_server.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace mortise::test {

/// The ZooKeeper store at a model of an ensemble.
class zookeeper_model_harness : public simulated_harness {
public:
    explicit zookeeper_model_harness(
        std::size_t servers = 1, zookeeper_form form = zookeeper_form::queue
    )
        : form_(form), ensemble_(world(), servers) {}
    ~zookeeper_model_harness() override { world().end(); }

    static store_abilities abilities() {
        auto all = abilities_of<zookeeper_model_harness>();
        all.loses_pushes = false;
        return all;
    }

    std::unique_ptr<store> make_store() override {
        zookeeper_store_config config;
        config.form = form_;
        config.servers = ensemble_.addresses();
        config.tick = ensemble_.settings().tick;
        return store_detail::make_zookeeper_store(std::move(config), ensemble_.access(clients()));
    }

    std::size_t several_portions() const override { return 200; }
    std::size_t many_names() const override { return 5'000; }
    std::chrono::milliseconds lifetime() const override { return 2 * ttl(); }
    bool gives_sessions_up() const override { return true; }
    bool pushes_are_hints() const override { return true; }
    bool ends_at_once() const override { return false; }
    bool draws_when_contended() const override { return false; }

    std::size_t residue() override {
        const auto& tree = ensemble_.tree();
        const std::string locks = "/mortise/locks";
        std::size_t count = tree.list("/mortise/sessions").children.size();
        for (const auto& each : tree.list(locks).children) {
            count +=
                form_ == zookeeper_form::queue ? tree.list(locks + '/' + each).children.size() : 1;
        }
        return count;
    }

    std::string left() override {
        const auto& tree = ensemble_.tree();
        std::string text;
        for (const auto& folder :
             {std::string("/mortise/sessions"), std::string("/mortise/locks")}) {
            for (const auto& each : tree.list(folder).children) {
                const auto path = folder + '/' + each;
                text += path + " \"" + tree.get(path).data + "\"\n";
                for (const auto& inner : tree.list(path).children)
                    text += "  " + inner + " \"" + tree.get(path + '/' + inner).data + "\"\n";
            }
        }
        return text;
    }

    void restart(bool with_memory) override {
        for (std::size_t i = 0; i < ensemble_.size(); ++i) {
            auto& each = ensemble_.server(i);
            each.crash();
            if (!with_memory)
                each.forget();
            world().after(std::chrono::milliseconds(1), [&each] { each.start(); });
        }
    }

protected:
    zookeeper_model::sim_ensemble& ensemble() noexcept { return ensemble_; }

private:
    std::vector<const sim::process*> servers() override {
        std::vector<const sim::process*> hosts;
        for (std::size_t i = 0; i < ensemble_.size(); ++i)
            hosts.push_back(&ensemble_.server(i).host());
        return hosts;
    }

    const zookeeper_form form_;
    zookeeper_model::sim_ensemble ensemble_;
};

}  // namespace mortise::test

#endif
