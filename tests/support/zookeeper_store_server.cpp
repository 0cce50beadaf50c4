// SPDX-License-Identifier: BSL-1.0
#include "store/zookeeper/node_names.hpp"
#include "support/store_server.hpp"
#include "support/zookeeper_server.hpp"
#include "support/zookeeper_tree.hpp"

#include <memory>

namespace mortise::test {
namespace {

class zookeeper_store_server final : public store_server {
public:
    std::string url() const override { return "zookeeper://" + server_.address() + "/storm"; }
    std::string options() const override { return "tick_ms=100&"; }

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

    std::int64_t parties(const std::string& name) const override {
        return count("/storm/locks/" + store_detail::node_of_lock(name));
    }
    std::int64_t sessions() const override { return count("/storm/sessions"); }
    std::string residue() const override {
        std::string found;
        for (const auto& each : tree().children("/storm/locks")) {
            if (const auto number = count("/storm/locks/" + each); number != 0)
                found += std::to_string(number) + " nodes of " + each + "; ";
        }
        if (const auto number = sessions(); number != 0)
            found += std::to_string(number) + " sessions";
        return found;
    }

private:
    std::int64_t count(const std::string& path) const {
        return static_cast<std::int64_t>(tree().children(path).size());
    }
    // A new one each time: the server may have been away for longer than a session lasts.
    zookeeper_tree& tree() const {
        tree_ = std::make_unique<zookeeper_tree>(server_.address());
        return *tree_;
    }

    zookeeper_ensemble server_;
    mutable std::unique_ptr<zookeeper_tree> tree_;
};

}  // namespace

std::unique_ptr<store_server> make_zookeeper_store_server() {
    return std::make_unique<zookeeper_store_server>();
}

}  // namespace mortise::test
