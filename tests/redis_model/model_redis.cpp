// SPDX-License-Identifier: BSL-1.0
#include "redis_model/model_redis.hpp"

#include "redis_model/dispatch.hpp"
#include "redis_model/server_state.hpp"

#include <utility>

namespace mortise::redis_model {
namespace {

constexpr std::int64_t hour = 3'600'000'000;  // in microseconds

}  // namespace

model_redis::model_redis(clock_function clock, std::size_t undo_max)
    : clock_(std::move(clock)), state_(std::make_unique<server_state>(undo_max)) {
    state_->config = {
        {"appendfsync", "everysec"},
        {"appendonly", "no"},
        {"cluster-enabled", "no"},
        {"maxmemory", "0"},
        {"maxmemory-policy", "noeviction"},
        {"min-replicas-max-lag", "10"},
        {"min-replicas-to-write", "0"},
        {"no-appendfsync-on-rewrite", "no"},
        {"notify-keyspace-events", ""},
        {"proto-max-bulk-len", "536870912"},
        {"save", "3600 1 300 100 60 10000"},
        {"timeout", "0"},
    };
    begin_run();
    state_->started_us -= hour;
}

model_redis::~model_redis() = default;

void model_redis::begin_run() {
    if (!restarts_hidden_) {
        state_->run_id = sha1_hex("run " + std::to_string(++runs_));
        state_->started_us = clock_();
    }
    state_->now_us = clock_();
    state_->clients.clear();
    state_->counts = {};
    state_->former_id.clear();
    state_->scripts = std::make_unique<script_engine>();
    untold_ = {};
}

model_redis::client_id model_redis::connect(push_function push) {
    ++state_->counts.connections;
    client_state added;
    added.push = std::move(push);
    state_->clients.emplace(++last_client_, std::move(added));
    return last_client_;
}

void model_redis::disconnect(client_id who) {
    state_->clients.erase(who);
}

store_detail::redis_value
model_redis::execute(client_id who, const store_detail::redis_command& words) {
    tell_changes();
    state_->now_us = clock_();
    state_->data.begin(state_->now_us / 1000);
    const reply result = dispatch(*state_, who, words);
    untold_ = {state_->data.end(), who};
    state_->offset += untold_.keys.empty() ? 0 : 100;
    return to_value(result);
}

void model_redis::tell_changes() {
    const auto changes = std::exchange(untold_, {});
    if (!changes.keys.empty())
        state_->tell_changed(changes.keys, changes.by);
}

void model_redis::expire() {
    tell_changes();
    state_->data.begin(clock_() / 1000);
    state_->data.expire_all();
    untold_.keys = state_->data.end();
    tell_changes();
}

void model_redis::restart(std::size_t changes_lost) {
    state_->data.undo(changes_lost);
    begin_run();
}

void model_redis::restart_empty() {
    state_->data.clear();
    state_->data.end();
    begin_run();
}

void model_redis::fail_over(std::size_t changes_lost) {
    const std::string former = state_->run_id;
    restart(changes_lost);
    state_->former_id = former;
    state_->started_us -= hour;
}

void model_redis::evict(const std::string& key) {
    tell_changes();
    if (!state_->data.find(key))
        return;
    state_->data.erase(key);
    ++state_->counts.evicted;
    untold_.keys = state_->data.end();
    tell_changes();
}

void model_redis::forget_scripts() {
    state_->scripts = std::make_unique<script_engine>();
}

conditions& model_redis::wrong() noexcept {
    return state_->wrong;
}

void model_redis::set_replicas(std::size_t count) {
    state_->replicas = count;
}

void model_redis::configure(const std::string& name, const std::string& value) {
    state_->config[name] = value;
}

const keyspace::key_map& model_redis::keys() const noexcept {
    return state_->data.keys();
}

const std::string& model_redis::run_id() const noexcept {
    return state_->run_id;
}

std::size_t model_redis::clients() const noexcept {
    return state_->clients.size();
}

}  // namespace mortise::redis_model
