// SPDX-License-Identifier: BSL-1.0
// The Redis store itself in virtual time: its scripts run in the model of a server.
#include "conformance/port_conformance.hpp"
#include "mortise/sim/world.hpp"
#include "redis_model/sim_redis.hpp"
#include "store/redis/redis_stores.hpp"

namespace mortise::test {
namespace {

/// Clients and peers in one simulated process, the server in another one, and between them a
/// network that is late but loses nothing by itself.
class redis_model_harness final : public store_harness {
public:
    redis_model_harness() {
        clients_.run([](sim::process&) -> asio::awaitable<void> { co_return; });
        // A server that has run for so long cannot have forgotten anybody with whatever TTL.
        world_.run_for(std::chrono::hours(25));
    }
    ~redis_model_harness() override { world_.end(); }

    static store_abilities abilities() {
        store_abilities all;
        all.traits = redis_model_harness().make_store()->traits();
        all.loses_replies = all.loses_pushes = all.restarts = all.spoils = true;
        all.silences = all.simulates_time = true;
        return all;
    }

    std::unique_ptr<store> make_store() override {
        redis_store_config config;
        config.longest_ttl = longest_ttl_;
        return store_detail::make_redis_store(config, server_.wires(clients_));
    }
    void expect_ttl(std::chrono::milliseconds longest) override { longest_ttl_ = longest; }
    asio::any_io_executor executor() override { return clients_.get_executor(); }
    std::shared_ptr<coro::time_source> time() override { return clients_.time(); }
    bool simulates_time() const override { return true; }
    std::chrono::milliseconds ttl() const override { return std::chrono::milliseconds(3'000); }

    bool run_until(const std::function<bool()>& done, clock::duration limit) override {
        return world_.run_until(done, limit);
    }

    // Leaves out the keys by which a store describes itself: they stay without sessions.
    std::size_t residue() override {
        std::size_t left = 0;
        for (const auto& [name, held] : server_.model().keys())
            left += lasting_.contains(name) ? 0u : 1u;
        return left;
    }

    // Cuts the way from the server until `count` messages were lost.
    void lose_replies(std::size_t count) override {
        sim::network& net = world_.net();
        sim::link& back = net.between(server_.host(), clients_);
        back.cut = count != 0;
        world_.watch([&net, &back, until = net.lost() + count](sim::process&) {
            back.cut = back.cut && net.lost() < until;
        });
    }

    void lose_pushes(std::size_t count) override { server_.lose_pushes(count); }

    void restart(bool with_memory) override {
        server_.restart_after(
            std::chrono::milliseconds(1),
            with_memory ? redis_model::kept::all : redis_model::kept::nothing
        );
    }

    void silence(bool silent) override {
        world_.net().between(server_.host(), clients_).cut = silent;
        world_.net().between(clients_, server_.host()).cut = silent;
    }

    void spoil(std::size_t nth, sim::fate how) override {
        spoiled_ = false;
        world_.net().decide([this, at = world_.net().sent() + nth, how](std::uint64_t sent) {
            if (sent != at || how == sim::fate::as_usual)
                return sim::fate::as_usual;
            spoiled_ = true;
            return how;
        });
    }
    bool spoiled() const override { return spoiled_; }

private:
    const std::set<std::string> lasting_{
        "mortise:id", "mortise:m", "mortise:t", "mortise:u", "mortise:b"};
    bool spoiled_ = false;
    std::chrono::milliseconds longest_ttl_ = ttl();
    sim::world world_{7};
    redis_model::sim_redis server_{world_, "redis"};
    sim::process& clients_{world_.add_process("clients")};
};

MORTISE_ALL_SUITES(RedisModel, redis_model_harness)

}  // namespace
}  // namespace mortise::test
