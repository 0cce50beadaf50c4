// SPDX-License-Identifier: BSL-1.0
#include "zookeeper_model/sim_server.hpp"

#include "mortise/coro/detail/with_code.hpp"
#include "mortise/sim/world.hpp"
#include "zookeeper_model/sim_ensemble.hpp"

#include <algorithm>
#include <utility>

namespace mortise::zookeeper_model {
namespace {

constexpr std::int64_t first_day_ms = 1'700'000'000'000;

}  // namespace

sim_server::sim_server(sim_ensemble& in, std::size_t index, sim::process& host)
    : ensemble_(in), index_(index), host_(host), sessions_(in.settings().tick) {
    host_.run([this](sim::process& self) { return main(self); });
}

std::int64_t sim_server::time_of_day() const {
    const auto shown = now().time_since_epoch() + offset_;
    return first_day_ms + std::chrono::duration_cast<std::chrono::milliseconds>(shown).count();
}

// A server alone has nobody to ping.
asio::awaitable<void> sim_server::main(sim::process& self) {
    boot();
    const auto tick_time = ensemble_.settings().tick;
    const clock::duration pause = ensemble_.size() == 1 ? tick_time : tick_time / 2;
    for (;;) {
        auto pausing = self.time()->async_wait_until(now() + pause, coro::detail::with_code);
        co_await std::move(pausing);
        if (runs_)
            tick();
    }
}

// What was not written down is gone.
void sim_server::boot() {
    clients_.clear();
    followers_.clear();
    to_leader_.reset();
    leader_ = nullptr;
    touched_.clear();
    sessions_.clear();
    role_ = role::looking;
    serving_ = false;
    if (runs_)
        ensemble_.look_for_leader();
}

void sim_server::crash() {
    if (!runs_ || !host_.alive())
        return;
    host_.in().say(host_.name() + "'s server dies");
    drop_clients();
    for (const auto& [index, each] : followers_)
        each.link->close(sim_connection::side::server);
    if (to_leader_)
        to_leader_->close(sim_connection::side::client);
    runs_ = false;
    boot();
}

void sim_server::start() {
    if (runs_ || !host_.alive())
        return;
    host_.in().say(host_.name() + "'s server starts");
    runs_ = true;
    boot();
}

void sim_server::forget() {
    tree_ = znode_tree();
    pending_.clear();
    epoch_ = 0;
}

void sim_server::end_session(session_number id) {
    if (!leads() || !serving_ || !tree_.sessions().contains(id))
        return;
    transaction end;
    end.type = transaction::kind::close_session;
    end.session = id;
    propose(std::move(end));
}

void sim_server::tick() {
    if (role_ == role::following && now() - heard_leader_ > patience())
        return seek_leader();
    if (role_ != role::leading)
        return;
    if (ensemble_.size() > 1)
        watch_followers();
    if (role_ == role::leading && serving_)
        end_old_sessions();
}

void sim_server::end_old_sessions() {
    for (const auto id : sessions_.take_expired(now())) {
        host_.in().say(host_.name() + " ends session " + std::to_string(id));
        end_session(id);
    }
    constexpr std::chrono::seconds between_looks(60);
    if (now() - containers_looked_at_ < between_looks)
        return;
    containers_looked_at_ = now();
    for (auto& path : tree_.empty_containers()) {
        transaction removal;
        removal.type = transaction::kind::erase_container;
        zk_step step;
        step.type = zk_step::kind::erase;
        step.path = std::move(path);
        removal.steps.push_back(std::move(step));
        propose(std::move(removal));
    }
}

}  // namespace mortise::zookeeper_model
