// SPDX-License-Identifier: BSL-1.0
#include "redis_model/sim_redis.hpp"

#include "mortise/sim/world.hpp"
#include "redis_model/sim_endpoint.hpp"
#include "redis_model/sim_wire.hpp"

#include <utility>

namespace mortise::redis_model {

sim_redis::sim_redis(sim::world& in, std::string name, std::size_t undo_max)
    : end_(std::make_shared<sim_endpoint>(in, std::move(name), undo_max)) {
    // No loop is needed: arriving messages drive the server.
    end_->host().run([end = end_.get()](sim::process&) -> asio::awaitable<void> {
        end->boot();
        co_return;
    });
}

sim_redis::~sim_redis() = default;

store_detail::redis_wire_factory sim_redis::wires(sim::process& client) {
    return [end = end_, &client](const asio::any_io_executor& strand) {
        return std::make_shared<sim_wire>(end, client, strand);
    };
}

sim::process& sim_redis::host() noexcept {
    return end_->host();
}

model_redis& sim_redis::model() noexcept {
    return end_->model();
}

void sim_redis::crash() {
    end_->crash();
}

void sim_redis::start(kept data, std::size_t changes_lost) {
    end_->start(data, changes_lost);
}

bool sim_redis::runs() const noexcept {
    return end_->runs();
}

void sim_redis::restart_after(clock::duration down, kept data, std::size_t changes_lost) {
    end_->crash();
    end_->host().in().after(down, [weak = std::weak_ptr(end_), data, changes_lost] {
        if (const auto end = weak.lock())
            end->start(data, changes_lost);
    });
}

void sim_redis::drop_clients() {
    end_->drop_clients();
}

void sim_redis::lose_pushes(std::size_t count) noexcept {
    end_->lose_pushes(count);
}

void sim_redis::shift_clock(clock::duration by) noexcept {
    end_->shift_clock(by);
}

std::size_t sim_redis::connections() const noexcept {
    return end_->connections();
}

}  // namespace mortise::redis_model
