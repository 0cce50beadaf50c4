// SPDX-License-Identifier: BSL-1.0
// The Redis store itself in virtual time: its scripts run in the model of a server.
#include "conformance/port_conformance.hpp"
#include "conformance/simulated_harness.hpp"
#include "redis_model/sim_redis.hpp"
#include "store/redis/redis_stores.hpp"

namespace mortise::test {
namespace {

/// The Redis store at a model of its server.
class redis_model_harness final : public simulated_harness {
public:
    redis_model_harness() {
        // A server that has run for so long cannot have forgotten anybody with whatever TTL.
        world().run_for(std::chrono::hours(25));
    }
    ~redis_model_harness() override { world().end(); }

    static store_abilities abilities() { return abilities_of<redis_model_harness>(); }
    std::unique_ptr<store> make_store() override {
        redis_store_config config;
        config.longest_ttl = longest_ttl_;
        return store_detail::make_redis_store(config, server_.wires(clients()));
    }
    void expect_ttl(std::chrono::milliseconds longest) override { longest_ttl_ = longest; }

    // Leaves out the keys by which a store describes itself: they stay without sessions.
    std::size_t residue() override {
        std::size_t left = 0;
        for (const auto& [name, held] : server_.model().keys())
            left += lasting_.contains(name) ? 0u : 1u;
        // Sessions share their keys.
        auto& model = server_.model();
        const auto admin = model.connect([](const store_detail::redis_value&) {});
        const auto sessions = model.execute(admin, {"ZCARD", "{mortise:}d"}).number;
        const auto facts = model.execute(admin, {"HLEN", "{mortise:}n"}).number;
        model.disconnect(admin);
        return left + static_cast<std::size_t>(sessions + facts);
    }

    // Each call runs scripts; a real server gets more of them.
    std::size_t many_names() const override { return 15'000; }

    void lose_pushes(std::size_t count) override { server_.lose_pushes(count); }
    void restart(bool with_memory) override {
        server_.restart_after(
            std::chrono::milliseconds(1),
            with_memory ? redis_model::kept::all : redis_model::kept::nothing
        );
    }

private:
    std::vector<const sim::process*> servers() override { return {&server_.host()}; }

    const std::set<std::string> lasting_{
        "mortise:id", "{mortise:}id", "{mortise:}s", "{mortise:}u", "{mortise:}b"};
    std::chrono::milliseconds longest_ttl_ = ttl();
    redis_model::sim_redis server_{world(), "redis"};
};

MORTISE_ALL_SUITES(RedisModel, redis_model_harness)

}  // namespace
}  // namespace mortise::test
