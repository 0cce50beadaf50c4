// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_ZOOKEEPER_HARNESS_HPP
#define MORTISE_TESTS_CONFORMANCE_ZOOKEEPER_HARNESS_HPP

#include "conformance/proxied_server_harness.hpp"
#include "mortise/store/zookeeper.hpp"
#include "support/zookeeper_server.hpp"
#include "support/zookeeper_tree.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace mortise::test {

/// The store at a real ZooKeeper server; each harness has a root of its own.
class zookeeper_harness : public proxied_server_harness {
public:
    explicit zookeeper_harness(zookeeper_form form = zookeeper_form::queue)
        : proxied_server_harness(port_of_server(), &make_zookeeper_reader),
          form_(form),
          root_(new_root()),
          tree_(shared_zookeeper().address()) {}
    ~zookeeper_harness() override { end_proxy(); }

    static store_abilities abilities(zookeeper_form form = zookeeper_form::queue) {
        zookeeper_store_config config;
        config.form = form;
        auto all = proxied_server_harness::abilities(*make_zookeeper_store(std::move(config)));
        all.loses_pushes = all.sees_death = false;
        all.simulated_elsewhere = true;  // zookeeper_model_test.cpp
        return all;
    }

    std::unique_ptr<store> make_store() override { return make_store_at(port()); }
    /// A store that connects to these ports of 127.0.0.1.
    template <class... Ports>
    std::unique_ptr<store> make_store_at(Ports... ports) {
        zookeeper_store_config config;
        config.form = form_;
        config.servers = {{"127.0.0.1", ports}...};
        config.root = root_;
        config.tick = std::chrono::milliseconds(100);
        return make_detachable(make_zookeeper_store(std::move(config)), line());
    }

    // It reads each lock by itself.
    std::size_t several_portions() const override { return 200; }
    // A new name costs five operations, three of which are written to a disk.
    std::size_t many_names() const override { return 15'000; }

    // The servers keep a session for longer than its leases are held.
    std::chrono::milliseconds lifetime() const override { return 2 * ttl(); }
    bool gives_sessions_up() const override { return true; }

    // Counts sessions, holders and waiters.
    std::size_t residue() override {
        const auto locks = root_ + "/locks";
        return tree_.children(root_ + "/sessions").size() + (form_ == zookeeper_form::queue
                                                                 ? tree_.grandchildren(locks)
                                                                 : tree_.children(locks).size());
    }
    std::string left() override { return tree_.text(root_); }

    /// Deletes the node of a session in the queue of a lock; false: there is none.
    bool erase_node_of(const session_id& session, const std::string& lock) {
        const auto folder = root_ + "/locks/" + lock;
        for (const auto& each : tree_.children(folder)) {
            if (each.starts_with(session.text()))
                return !tree_.erase(folder + '/' + each);
        }
        return false;
    }

    bool pushes_are_hints() const override { return true; }
    bool ends_at_once() const override { return false; }
    // Whoever waits has a token already.
    bool draws_when_contended() const override { return false; }

protected:
    const std::string& root() const noexcept { return root_; }
    zookeeper_tree& tree() noexcept { return tree_; }

    // What reads or makes the root.
    bool opens(std::string_view command) const override {
        constexpr std::size_t type_at = 11;  // behind a length, a number, and three zeros
        constexpr char create = 15;
        const bool makes = command.size() > type_at && command[type_at] == create;
        return command.find("/store") != std::string_view::npos ||
               (makes && command.find("/locks/") == std::string_view::npos &&
                command.find("/sessions/") == std::string_view::npos);
    }
    // A connection never repeats a request.
    bool may_come_twice(std::string_view) const override { return false; }

private:
    static std::uint16_t port_of_server() {
        const auto address = shared_zookeeper().address();
        return static_cast<std::uint16_t>(std::stoi(address.substr(address.find(':') + 1)));
    }
    static std::string new_root() {
        static int number = 0;
        return "/test" + std::to_string(++number);
    }

    const zookeeper_form form_;
    const std::string root_;
    zookeeper_tree tree_;
};

}  // namespace mortise::test

#endif
