// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_REDLOCK_HARNESS_HPP
#define MORTISE_TESTS_CONFORMANCE_REDLOCK_HARNESS_HPP

#include "conformance/real_time_harness.hpp"
#include "mortise/store/redlock.hpp"
#include "support/redlock_servers.hpp"

#include <atomic>
#include <memory>
#include <string>

namespace mortise::test {

/// A Redlock store of three real servers; each harness has keys of its own there.
class redlock_harness : public real_time_harness {
public:
    redlock_harness() {
        static std::atomic<int> count = 0;
        prefix_ = "r" + std::to_string(++count) + ":";
    }

    static store_abilities abilities() {
        store_abilities all;
        redlock_store_config config;
        for (const char* const host : {"a", "b", "c"})
            config.servers.emplace_back(host, 6'379);
        all.traits = make_redlock_store(config)->traits();  // needs no server
        all.loses_replies = all.lives_anywhere = true;
        return all;
    }

    std::unique_ptr<store> make_store() override {
        auto config = shared_nodes().config();
        config.prefix = prefix_;
        return make_detachable(make_redlock_store(std::move(config)), line());
    }

    // Counts sessions, votes, places in queues and what indices have, at all nodes.
    std::size_t residue() override { return shared_nodes().residue(prefix_); }
    std::string left() override { return shared_nodes().left(prefix_); }

    // Each is asked for at three servers.
    std::size_t many_names() const override { return 15'000; }

    bool pushes_are_hints() const override { return true; }
    /// Each node frees what a session held there when it hears of the end.
    bool ends_at_once() const override { return false; }
    /// One that asks, and one of the set of nodes that keeps the grant.
    unsigned sessions_of_a_holder() const override { return 2; }

private:
    std::string prefix_;
};

}  // namespace mortise::test

#endif
