// SPDX-License-Identifier: BSL-1.0
#include "core/planted_bug.hpp"
#include "mortise/sim/world.hpp"
#include "redis_model/sim_redis.hpp"
#include "sim/backend.hpp"
#include "store/redis/redis_stores.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <utility>

namespace mortise::test {
namespace {

using redis_model::kept;

class redis_backend final : public backend {
public:
    explicit redis_backend(sim::world& in) : world_(in), server_(in, "redis", changes_kept) {
        if (MORTISE_PLANTED(restart_without_quarantine))
            server_.model().hide_restarts();
        set_server_clock();
    }

    sim::process& add_client(std::string name) override {
        sim::process& added = world_.add_process(std::move(name));
        added.set_clock_rate(some_rate());
        return added;
    }

    std::unique_ptr<store> make_store(sim::process& client) override {
        redis_store_config config;
        config.longest_ttl = sim_ttl;
        return store_detail::make_redis_store(config, server_.wires(client));
    }

    void misbehave(clock::duration span) override {
        switch (draw(8)) {
        case 0:
            server_.host().pause();
            world_.after(span, [this] { server_.host().resume(); });
            break;
        case 1:
            restart(span);
            break;
        case 2:
            fail_power(span);
            break;
        case 3:
            server_.lose_pushes(1 + draw(3));
            break;
        case 4:
            set_server_clock();
            break;
        case 5:
            world_.say("redis resets its connections and forgets its scripts");
            server_.drop_clients();
            server_.model().forget_scripts();
            break;
        default:
            refuse(span);
        }
    }

    void cut_off(sim::process& client, clock::duration span) override {
        sim::process& host = server_.host();
        sim::network& net = world_.net();
        const std::size_t way = draw(3);
        world_.say(client.name() + " is cut off, way " + std::to_string(way));
        if (way != 1)
            net.cut(client, host);
        if (way != 0)
            net.cut(host, client);
        world_.after(span, [&net, &client, &host] {
            net.between(client, host).cut = false;
            net.between(host, client).cut = false;
        });
    }

    void heal() override {
        server_.model().wrong() = {};
        server_.lose_pushes(0);
        if (!server_.host().alive())
            server_.host().restart();
        server_.host().resume();
        server_.start();
    }

    std::string residue() override {
        const std::set<std::string> lasting{
            "mortise:id", "{mortise:}id", "{mortise:}s", "{mortise:}u", "{mortise:}b"};
        std::string left;
        for (const auto& [name, held] : server_.model().keys())
            left += lasting.contains(name) ? "" : " " + name;
        return left.empty() ? left : "keys of the store:" + left;
    }

private:
    static constexpr std::size_t changes_kept = 50;

    std::size_t draw(std::size_t end) { return world_.random().below(end); }

    std::int32_t some_rate() { return static_cast<std::int32_t>(draw(8'001)) - 4'000; }

    // Plants a bug by a clock that is much too fast: it ends sessions too early.
    void set_server_clock() {
        constexpr std::int32_t too_fast = 110'000;
        server_.host().set_clock_rate(MORTISE_PLANTED(session_cut_short) ? too_fast : some_rate());
    }

    /// Restarts the server with all its data, with less as after a crash, as a replica that lagged,
    /// or empty.
    void restart(clock::duration span) {
        constexpr kept ways[] = {kept::all, kept::all, kept::promoted, kept::nothing};
        const std::size_t way = draw(4);
        const std::size_t lost = way == 0 ? 0 : draw(changes_kept);
        server_.restart_after(span, ways[way], lost);
    }

    void fail_power(clock::duration span) {
        sim::process& host = server_.host();
        if (!host.alive())
            return;
        host.crash();
        world_.after(span, [&host] {
            if (!host.alive())
                host.restart();
        });
    }

    /// Makes the server refuse commands although it is up.
    void refuse(clock::duration span) {
        auto& wrong = server_.model().wrong();
        bool* const conditions[] = {
            &wrong.out_of_memory,
            &wrong.read_only,
            &wrong.loading,
            &wrong.busy,
            &wrong.disk_failed};
        const std::size_t condition = draw(std::size(conditions));
        world_.say("redis refuses, way " + std::to_string(condition));
        *conditions[condition] = true;
        world_.after(span, [off = conditions[condition]] { *off = false; });
    }

    sim::world& world_;
    redis_model::sim_redis server_;
};

}  // namespace

std::unique_ptr<backend> make_redis_backend(sim::world& in) {
    return std::make_unique<redis_backend>(in);
}

}  // namespace mortise::test
