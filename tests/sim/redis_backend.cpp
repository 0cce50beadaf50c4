// SPDX-License-Identifier: BSL-1.0
#include "mortise/sim/world.hpp"
#include "redis_model/sim_redis.hpp"
#include "sim/backend.hpp"
#include "sim/process_faults.hpp"
#include "sim/redis_faults.hpp"
#include "store/redis/redis_stores.hpp"

#include <cstddef>
#include <set>
#include <string>
#include <utility>

namespace mortise::test {
namespace {

using redis_model::kept;

class redis_backend final : public backend {
public:
    explicit redis_backend(sim::world& in)
        : faults_(in), server_(in, "redis", redis_faults::changes_kept) {
        faults_.prepare(server_);
    }

    sim::process& add_client(std::string name) override {
        return faults_.add_client(std::move(name));
    }

    std::unique_ptr<store> make_store(sim::process& client) override {
        redis_store_config config;
        config.longest_ttl = sim_ttl;
        return store_detail::make_redis_store(config, server_.wires(client));
    }

    void misbehave(clock::duration span) override {
        switch (faults_.draw(8)) {
        case 0:
            pause_for(server_.host(), span);
            break;
        case 1:
            restart(span);
            break;
        case 2:
            crash_for(server_.host(), span);
            break;
        case 3:
            server_.lose_pushes(1 + faults_.draw(3));
            break;
        case 4:
            faults_.set_clock(server_);
            break;
        case 5:
            faults_.drop_clients(server_);
            break;
        default:
            faults_.refuse(server_, span);
        }
    }

    void cut_off(sim::process& client, clock::duration span) override {
        cut_off_for(client, server_.host(), span);
    }

    void heal() override { redis_faults::heal(server_); }

    std::string residue() override {
        const std::set<std::string> lasting{
            "mortise:id", "{mortise:}id", "{mortise:}s", "{mortise:}u", "{mortise:}b"};
        std::string left;
        for (const auto& [name, held] : server_.model().keys())
            left += lasting.contains(name) ? "" : " " + name;
        return left.empty() ? left : "keys of the store:" + left;
    }

private:
    /// Restarts the server with all its data, with less as after a crash, as a replica that lagged,
    /// or empty.
    void restart(clock::duration span) {
        constexpr kept ways[] = {kept::all, kept::all, kept::promoted, kept::nothing};
        const std::size_t way = faults_.draw(4);
        const std::size_t lost = way == 0 ? 0 : faults_.draw(redis_faults::changes_kept);
        server_.restart_after(span, ways[way], lost);
    }

    redis_faults faults_;
    redis_model::sim_redis server_;
};

}  // namespace

std::unique_ptr<backend> make_redis_backend(sim::world& in) {
    return std::make_unique<redis_backend>(in);
}

}  // namespace mortise::test
