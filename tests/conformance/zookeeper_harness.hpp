// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_ZOOKEEPER_HARNESS_HPP
#define MORTISE_TESTS_CONFORMANCE_ZOOKEEPER_HARNESS_HPP

#include "conformance/real_time_harness.hpp"
#include "mortise/store/zookeeper.hpp"
#include "support/zookeeper_server.hpp"
#include "support/zookeeper_tree.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace mortise::test {

/// The store at a real ZooKeeper server; each harness has a root of its own.
class zookeeper_harness : public real_time_harness {
public:
    zookeeper_harness() : root_(new_root()), tree_(shared_zookeeper().address()) {}

    static store_abilities abilities() {
        store_abilities all;
        all.traits = make_zookeeper_store(zookeeper_store_config())->traits();
        all.loses_replies = all.lives_anywhere = true;
        return all;
    }

    std::chrono::milliseconds ttl() const override { return std::chrono::seconds(2); }
    std::chrono::milliseconds short_ttl() const override { return std::chrono::milliseconds(600); }

    std::unique_ptr<store> make_store() override {
        return make_detachable(make_zookeeper_store(config()), line());
    }

    zookeeper_store_config config() const {
        auto config = parse_zookeeper_url("zookeeper://" + shared_zookeeper().address() + root_);
        config.tick = std::chrono::milliseconds(100);
        return config;
    }

    // Counts sessions, holders and waiters.
    std::size_t residue() override {
        std::size_t count = tree_.children(root_ + "/sessions").size();
        for (const auto& each : tree_.children(root_ + "/locks"))
            count += tree_.children(root_ + "/locks/" + each).size();
        return count;
    }
    std::string left() override { return tree_.text(root_); }

    bool messages_are_hints() const override { return true; }

private:
    static std::string new_root() {
        static int number = 0;
        return "/store" + std::to_string(++number);
    }

    const std::string root_;
    zookeeper_tree tree_;
};

}  // namespace mortise::test

#endif
