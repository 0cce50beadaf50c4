// SPDX-License-Identifier: BSL-1.0
#include "storm/redlock_ground.hpp"

#include "storm/last_client.hpp"
#include "storm/plan.hpp"

#include <algorithm>

namespace mortise::storm {
namespace {

using std::chrono::milliseconds;

constexpr const char* node_deed_names[] = {
    "clients_thrown_out",
    "stops_of_a_node",
    "crashes_without_memory",
    "flushes",
};

}  // namespace

redlock_ground::redlock_ground(const settings& how)
    : ttl_(how.ttl), dice_(how.seed, node_deed_names) {
    static_assert(std::size(node_deed_names) == deeds);
}

std::string redlock_ground::url(std::size_t) const {
    std::string hosts;
    for (const auto& each : servers_.config().servers)
        hosts += (hosts.empty() ? "" : ",") + each.host + ':' + std::to_string(each.port);
    return "redlock://" + hosts + "?domain=" + domain +
           "&connect_max_ms=1000&longest_ttl_ms=" + std::to_string(ttl_.count());
}

void redlock_ground::shake(clock::time_point now) {
    for (hand& each : hands_) {
        if (now < each.due)
            continue;
        if (each.present == deed::count && each.due != clock::time_point()) {
            begin(each, now);
            continue;
        }
        end(each);
        each.due = now + dice_.between(100, 2'000);
    }
}

// A server that no hand is at.
std::size_t redlock_ground::free_server() {
    for (;;) {
        const auto index = dice_.index_below(servers_.size());
        const bool taken = std::any_of(hands_.begin(), hands_.end(), [&](const hand& each) {
            return each.present != deed::count && each.victim == index;
        });
        if (!taken)
            return index;
    }
}

void redlock_ground::begin(hand& by, clock::time_point now) {
    by.victim = free_server();
    by.present = static_cast<deed>(dice_.next());
    by.due = now;
    auto& server = servers_.at(by.victim);
    switch (by.present) {
    case deed::throw_out:
        server.connect().command({"CLIENT", "KILL", "SKIPME", "yes"});
        break;
    case deed::stop:
        server.suspend();
        by.due += dice_.between(50, 2 * ttl_.count());
        break;
    case deed::crash:
        server.kill();
        by.due += dice_.between(50, ttl_.count());
        break;
    case deed::flush:
        server.connect().command({"FLUSHALL"});
        break;
    case deed::count:
        break;
    }
}

void redlock_ground::end(hand& by) {
    auto& server = servers_.at(by.victim);
    if (by.present == deed::stop)
        server.resume();
    else if (by.present == deed::crash)
        server.start(test::redis_server::data::lost);
    by.present = deed::count;
}

void redlock_ground::settle() {
    for (hand& each : hands_)
        end(each);
}

std::string redlock_ground::residue() {
    bury_the_dead(url(0), ttl_, [this] { return servers_.sessions(); });
    const auto left = servers_.residue();
    return left == 0 ? std::string() : servers_.left();
}

}  // namespace mortise::storm
