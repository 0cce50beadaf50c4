// SPDX-License-Identifier: BSL-1.0
#include "storm/cluster_ground.hpp"

#include "store/redis/lock_buckets.hpp"
#include "storm/last_client.hpp"
#include "storm/plan.hpp"
#include "support/eventually.hpp"
#include "support/redis_parties.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace mortise::storm {
namespace {

using std::chrono::milliseconds;

constexpr const char* names_of_deeds[] = {
    "clients_thrown_out",
    "stops_of_a_primary",
    "false_primaries",
    "crashes_of_a_primary",
    "restarts_without_memory",
    "planned_fail_overs",
    "slots_moved",
};
constexpr milliseconds look_again{50};
constexpr milliseconds replica_stands_for{8'000};

// The slot of the bucket of that lock, by a key of it.
std::string key_for(const char* lock) {
    const store_detail::lock_buckets buckets("mortise:", 64);
    return '{' + buckets.tag(buckets.of(lock)) + "}s";
}

}  // namespace

cluster_ground::cluster_ground(const settings& how)
    : ttl_(how.ttl), dice_(how.seed, names_of_deeds) {
    static_assert(std::size(names_of_deeds) == deeds);
}

std::string cluster_ground::url(std::size_t) const {
    std::string hosts;
    for (std::size_t i = 0; i < test::redis_cluster::primaries; ++i)
        hosts += (hosts.empty() ? "" : ",") + cluster_.node(i).address();
    return "redis+cluster://" + hosts + "?domain=" + domain +
           "&connect_max_ms=1000&longest_ttl_ms=" + std::to_string(ttl_.count());
}

void cluster_ground::shake(clock::time_point now) {
    if (now < due_)
        return;
    if (due_ == clock::time_point()) {
        due_ = now + dice_.between(200, 500);
    } else if (present_ == deed::count) {
        if (cluster_.is_whole())
            begin(now);
        else
            due_ = now + look_again;
    } else if (end(now)) {
        present_ = deed::count;
        due_ = now + dice_.between(100, 700);
    } else {
        due_ = now + look_again;
    }
}

void cluster_ground::begin(clock::time_point now) {
    const auto shard = dice_.index_below(test::redis_cluster::primaries);
    victim_ = cluster_.is_primary(shard) ? shard : cluster_.partner_of(shard);
    present_ = static_cast<deed>(dice_.next());
    due_ = now;
    give_up_ = now + replica_stands_for;
    auto& server = cluster_.node(victim_);
    switch (present_) {
    case deed::throw_out: {
        auto admin = server.connect();
        for (const char* const type : {"normal", "pubsub"})
            admin.command({"CLIENT", "KILL", "TYPE", type, "SKIPME", "yes"});
        break;
    }
    case deed::stop:
        server.suspend();
        due_ += dice_.between(50, 900);
        break;
    case deed::freeze:
        server.suspend();
        due_ += milliseconds(1'000);
        break;
    case deed::crash:
        server.kill();
        due_ += milliseconds(1'000);
        break;
    case deed::restart:
        server.kill();
        server.start(test::redis_server::data::lost);  // A replica leaves the dump of its primary.
        break;
    case deed::hand_over:
        cluster_.node(cluster_.partner_of(victim_)).connect().command({"CLUSTER", "FAILOVER"});
        break;
    case deed::move: {
        const auto lock = dice_.index_below(locks.size());
        moving_ = key_for(locks.at(lock).name);
        victim_ = cluster_.owner_of(moving_);
        do
            goal_ = dice_.index_below(cluster_.size());
        while (goal_ == victim_ || !cluster_.is_primary(goal_));
        cluster_.begin_to_move(moving_, goal_);
        due_ += dice_.between(20, 600);
        break;
    }
    case deed::count:
        break;
    }
}

bool cluster_ground::end(clock::time_point now) {
    auto& server = cluster_.node(victim_);
    const bool taken_over = partner_leads() || now >= give_up_;
    switch (present_) {
    case deed::stop:
        server.resume();
        break;
    case deed::freeze:
        if (!taken_over)
            return false;
        server.resume();
        break;
    case deed::crash:
        if (!taken_over)
            return false;
        server.start(test::redis_server::data::lost);
        break;
    case deed::hand_over:
        return taken_over;
    case deed::move:
        cluster_.end_moving(moving_, goal_);
        break;
    case deed::throw_out:
    case deed::restart:
    case deed::count:
        break;
    }
    return true;
}

bool cluster_ground::partner_leads() const {
    return cluster_.is_primary(cluster_.partner_of(victim_));
}

void cluster_ground::settle() {
    const auto over = [this] { return end(clock::now()); };
    if (!test::eventually(over, 2 * replica_stands_for))
        throw std::logic_error("a fault does not end");
    present_ = deed::count;
    if (!test::eventually([this] { return cluster_.is_whole(); }, 2 * replica_stands_for))
        throw std::runtime_error("the cluster does not become whole again");
}

std::int64_t cluster_ground::most_sessions() const {
    std::int64_t most = 0;
    for (std::size_t i = 0; i < cluster_.size(); ++i) {
        if (!cluster_.is_primary(i))
            continue;
        auto node = cluster_.node(i).connect();
        for (const auto& key : node.command({"KEYS", "{mortise:{*}d"}).texts())
            most = std::max(most, node.command({"ZCARD", key}).number);
    }
    return most;
}

std::string cluster_ground::residue() {
    std::vector<std::string> names;
    for (const auto& each : locks)
        names.emplace_back(each.name);
    bury_the_dead(
        url(0), ttl_, [this] { return most_sessions(); }, names
    );
    std::string left;
    for (std::size_t i = 0; i < cluster_.size(); ++i) {
        if (!cluster_.is_primary(i))
            continue;
        auto node = cluster_.node(i).connect();
        for (const auto& key : node.command({"KEYS", "{mortise:{*"}).texts()) {
            if (!test::is_lasting("{mortise:}" + key.substr(key.find('}') + 1)))
                left += "the key " + key + "; ";
        }
    }
    return left;
}

}  // namespace mortise::storm
