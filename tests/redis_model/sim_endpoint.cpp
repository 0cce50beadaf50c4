// SPDX-License-Identifier: BSL-1.0
#include "redis_model/sim_endpoint.hpp"

#include "mortise/sim/world.hpp"
#include "redis_model/sim_wire.hpp"
#include "redis_model/words.hpp"

#include <chrono>
#include <utility>
#include <vector>

namespace mortise::redis_model {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t epoch_us = 1'700'000'000'000'000;
// A connection ends after its packets were resent for this long without arriving.
constexpr auto hole_max = 3s;
// After this long without a message, the server checks whether the client is still there.
constexpr auto silence_max = 300s;

}  // namespace

sim_endpoint::sim_endpoint(sim::world& in, std::string name, std::size_t undo_max)
    : world_(in),
      host_(in.add_process(std::move(name))),
      model_([this] { return server_clock(); }, undo_max) {}

std::int64_t sim_endpoint::server_clock() const {
    const auto shown = host_.local_now().time_since_epoch() + clock_offset_;
    return epoch_us + std::chrono::duration_cast<std::chrono::microseconds>(shown).count();
}

void sim_endpoint::boot() {
    if (host_.lives() == 1)
        return;
    connections_.clear();
    model_.restart();
    runs_ = true;
}

void sim_endpoint::crash() {
    if (!runs_)
        return;
    world_.say(host_.name() + "'s server dies");
    runs_ = false;
    drop_clients();
}

void sim_endpoint::drop_clients() {
    while (!connections_.empty())
        reset(connections_.begin()->first);
}

void sim_endpoint::start(kept data, std::size_t changes_lost) {
    if (runs_ || !host_.alive())
        return;
    world_.say(host_.name() + "'s server starts, kept " + std::to_string(static_cast<int>(data)));
    runs_ = true;
    if (data == kept::nothing)
        model_.restart_empty();
    else if (data == kept::promoted)
        model_.fail_over(changes_lost);
    else
        model_.restart(changes_lost);
}

void sim_endpoint::arrived(
    const std::shared_ptr<sim_endpoint>& self,
    connection_id from,
    sim::process& client,
    const std::weak_ptr<sim_wire>& wire,
    std::uint64_t number,
    client_message message
) {
    const bool opens = message.type == client_message::kind::open;
    if (opens && runs_ && seen_.insert(from).second) {
        connection added;
        added.client = &client;
        added.client_life = client.lives();
        added.wire = wire;
        connections_.emplace(from, std::move(added));
    }
    const auto found = connections_.find(from);
    if (found == connections_.end()) {
        if (message.type != client_message::kind::farewell)
            send_reset(client, wire);
        return;
    }
    found->second.heard = world_.now();
    found->second.inbox.put(number, std::move(message));
    while (connections_.contains(from)) {
        const auto next = found->second.inbox.take();
        if (!next || !execute(from, *next))
            break;
    }
    if (!connections_.contains(from) || !found->second.inbox.has_hole())
        return;
    world_.after(hole_max, [weak = std::weak_ptr(self), from, at = found->second.inbox.next()] {
        if (const auto end = weak.lock())
            end->break_at_hole(from, at);
    });
}

void sim_endpoint::break_at_hole(connection_id id, std::uint64_t awaited) {
    const auto found = connections_.find(id);
    if (found != connections_.end() && found->second.inbox.next() == awaited)
        reset(id);
}

bool sim_endpoint::execute(connection_id id, const client_message& message) {
    switch (message.type) {
    case client_message::kind::open:
        accept(id);
        return true;
    case client_message::kind::farewell:
        close(id);
        return false;
    case client_message::kind::command:
        break;
    }
    // The confirmation of a subscription stands for its reply.
    subscribing_ = is_word(message.words.front(), "SUBSCRIBE");
    auto result = model_.execute(connections_.at(id).known_as, message.words);
    subscribing_ = false;
    send(id, {server_message::kind::reply, std::move(result)});
    model_.tell_changes();
    return true;
}

void sim_endpoint::accept(connection_id id) {
    forget_the_dead();
    connections_.at(id).known_as = model_.connect([this, id](store_detail::redis_value message) {
        push(id, std::move(message));
    });
    send(id, {server_message::kind::accepted, {}});
}

void sim_endpoint::push(connection_id to, store_detail::redis_value message) {
    if (subscribing_)
        return;
    if (pushes_to_lose_ != 0)
        --pushes_to_lose_;
    else
        send(to, {server_message::kind::push, std::move(message)});
}

void sim_endpoint::send(connection_id to, server_message message) {
    connection& on = connections_.at(to);
    const auto wire = on.wire;
    world_.net().send(
        host_,
        *on.client,
        [weak = weak_from_this(),
         wire,
         to,
         &client = *on.client,
         number = on.sent++,
         message = std::move(message)] {
            const auto there = wire.lock();
            if (there && there->takes_messages())
                return there->arrived(number, message);
            // The client's machine no longer knows the connection, and resets it.
            if (const auto end = weak.lock())
                end->world_.net().send(client, end->host_, [weak, to] {
                    if (const auto found = weak.lock())
                        found->close(to);
                });
        }
    );
}

void sim_endpoint::close(connection_id id) {
    const auto found = connections_.find(id);
    if (found == connections_.end())
        return;
    model_.disconnect(found->second.known_as);
    connections_.erase(found);
}

void sim_endpoint::reset(connection_id id) {
    const auto found = connections_.find(id);
    sim::process& client = *found->second.client;
    const auto wire = found->second.wire;
    close(id);
    send_reset(client, wire);
}

void sim_endpoint::send_reset(sim::process& client, const std::weak_ptr<sim_wire>& wire) {
    world_.net().send(host_, client, [wire] {
        if (const auto there = wire.lock())
            there->was_reset();
    });
}

void sim_endpoint::forget_the_dead() {
    std::vector<connection_id> dead;
    for (const auto& [id, each] : connections_) {
        const bool gone = !each.client->alive() || each.client->lives() != each.client_life;
        if (gone && each.heard + silence_max < world_.now())
            dead.push_back(id);
    }
    for (const auto each : dead)
        close(each);
}

}  // namespace mortise::redis_model
