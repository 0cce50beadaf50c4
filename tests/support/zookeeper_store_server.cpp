// SPDX-License-Identifier: BSL-1.0
#include "mortise/store/zookeeper.hpp"
#include "store/zookeeper/node_names.hpp"
#include "support/store_server.hpp"
#include "support/zookeeper_server.hpp"
#include "support/zookeeper_tree.hpp"

#include <memory>

namespace mortise::test {
namespace {

class zookeeper_store_server final : public store_server {
public:
    explicit zookeeper_store_server(zookeeper_form form) : form_(form) {}

    std::string url() const override { return "zookeeper://" + server_.address() + "/storm"; }
    std::string options() const override {
        return queues() ? "tick_ms=100&" : "tick_ms=100&form=single_node&";
    }

    // There is no gentler way: nobody but the server itself can end a connection.
    void end_connections() override { crash(); }
    void suspend() override { server_.suspend(0); }
    void resume() override { server_.resume(0); }
    void restart() override { crash(); }
    void crash() override {
        server_.kill(0);
        server_.start(0);
        server_.await_service();
    }

    // Of single nodes, the holder: those who wait are nowhere.
    std::int64_t parties(const std::string& name) const override {
        const auto path = "/storm/locks/" + store_detail::node_of_lock(name);
        if (queues())
            return count(path);
        return tree().get(path).failed ? 0 : 1;
    }
    std::int64_t sessions() const override { return count("/storm/sessions"); }
    std::string residue() const override {
        std::string found;
        for (const auto& each : tree().children("/storm/locks")) {
            const auto number = queues() ? count("/storm/locks/" + each) : 1;
            if (number != 0)
                found += std::to_string(number) + " nodes of " + each + "; ";
        }
        if (const auto number = sessions(); number != 0)
            found += std::to_string(number) + " sessions";
        return found;
    }

private:
    bool queues() const noexcept { return form_ == zookeeper_form::queue; }
    std::int64_t count(const std::string& path) const {
        return static_cast<std::int64_t>(tree().children(path).size());
    }
    // A new one each time: the server may have been away for longer than a session lasts.
    zookeeper_tree& tree() const {
        tree_ = std::make_unique<zookeeper_tree>(server_.address());
        return *tree_;
    }

    const zookeeper_form form_;
    zookeeper_ensemble server_;
    mutable std::unique_ptr<zookeeper_tree> tree_;
};

}  // namespace

std::unique_ptr<store_server> make_zookeeper_store_server() {
    return std::make_unique<zookeeper_store_server>(zookeeper_form::queue);
}

std::unique_ptr<store_server> make_zookeeper_node_server() {
    return std::make_unique<zookeeper_store_server>(zookeeper_form::single_node);
}

}  // namespace mortise::test
