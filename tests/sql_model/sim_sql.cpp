// SPDX-License-Identifier: BSL-1.0
#include "sql_model/sim_sql.hpp"

#include "mortise/sim/world.hpp"
#include "sql_model/sim_gateway.hpp"
#include "store/sql/sql_gateway.hpp"

#include <utility>

namespace mortise::sql_model {
namespace {

asio::awaitable<void> idle(sim::process&) {
    co_return;  // Messages do all the work of a server.
}

// The first attempt follows at once, so that a lost message costs its time limit and no more.
clock::duration reconnect_pause(std::uint32_t attempt) noexcept {
    return attempt == 0 ? std::chrono::milliseconds(0) : std::chrono::milliseconds(50);
}

}  // namespace

sim_database::sim_database(sim::process& host)
    : host_(host), tables_([this](const store_detail::sql_push& push) { notify(push); }) {}

void sim_database::notify(const store_detail::sql_push& push) {
    if (pushes_to_lose_ != 0) {
        --pushes_to_lose_;
        return;
    }
    const auto found = listeners_.find(push.to);
    if (found != listeners_.end())
        found->second(push);
}

sim_sql::sim_sql(sim::world& in, std::string name)
    : base_(std::make_shared<sim_database>(in.add_process(std::move(name)))) {
    base_->host().run(&idle);
}

std::unique_ptr<store> sim_sql::make_store(sim::process& client, clock::duration call_max) {
    return store_detail::make_sql_store(
        std::make_shared<sim_gateway>(client, base_, call_max), &reconnect_pause
    );
}

void sim_sql::restart_after(clock::duration down, bool with_memory) {
    if (!host().alive())
        return;
    host().crash();
    host().in().after(down, [this, with_memory] {
        if (host().alive())
            return;
        host().restart();
        if (!with_memory)
            base_->tables().lose_unlogged(base_->now());
    });
}

}  // namespace mortise::sql_model
