// SPDX-License-Identifier: BSL-1.0
#include "support/redis_cluster.hpp"

#include "support/eventually.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace mortise::test {
namespace {

constexpr std::size_t slots = 16'384;
constexpr auto agreement_max = std::chrono::seconds(40);

std::string port_of(const redis_server& node) {
    return std::to_string(node.port());
}

bool speak_tls(const redis_server::settings& settings) {
    return std::any_of(settings.begin(), settings.end(), [](const auto& each) {
        return each.starts_with("tls-cert-file");
    });
}

}  // namespace

redis_cluster::redis_cluster(replicas each, const redis_server::settings& more)
    : tls_(speak_tls(more)) {
    const std::size_t count = each == replicas::none ? primaries : 2 * primaries;
    for (std::size_t i = 0; i < count; ++i) {
        bus_ports_.push_back(std::make_unique<port_reservation>());
        redis_server::settings settings{
            "cluster-enabled yes",
            "cluster-node-timeout 1500",
            "cluster-port " + std::to_string(bus_ports_.back()->port()),
            "cluster-allow-replica-migration no",
            "cluster-replica-validity-factor 0"};
        if (tls_)
            settings.push_back("tls-cluster yes");
        settings.insert(settings.end(), more.begin(), more.end());
        nodes_.push_back(std::make_unique<redis_server>(std::move(settings)));
        auto admin = node(i).connect();
        if (i < primaries) {
            const auto first = i * slots / primaries;
            const auto last = (i + 1) * slots / primaries - 1;
            admin.command({"CLUSTER", "ADDSLOTSRANGE", std::to_string(first), std::to_string(last)}
            );
            admin.command({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
        }
        if (i > 0)
            admin.command(
                {"CLUSTER",
                 "MEET",
                 "127.0.0.1",
                 tls_ ? std::to_string(node(0).tls_port()) : port_of(node(0)),
                 std::to_string(bus_ports_.front()->port())}
            );
    }
    if (!eventually([this] { return complete(); }, agreement_max))
        throw std::runtime_error("the nodes do not agree:\n" + node(0).log());
    for (std::size_t i = primaries; i < count; ++i)
        node(i).connect().command({"CLUSTER", "REPLICATE", id_of(i - primaries)});
    for (std::size_t i = primaries; i < count; ++i) {
        auto primary = node(i - primaries).connect();
        await_replicas(primary, 1);
    }
    const auto replicate = [this] {
        for (std::size_t i = 0; i < size(); ++i) {
            const auto known = node(i).connect().command({"CLUSTER", "NODES"}).text;
            const auto followers = size() - primaries;
            std::size_t seen = 0;
            for (auto at = known.find("slave "); at != std::string::npos;
                 at = known.find("slave ", at + 1))
                ++seen;
            if (seen != followers)
                return false;
        }
        return true;
    };
    if (!eventually(replicate, agreement_max))
        throw std::runtime_error("not all nodes know the replicas:\n" + node(0).log());
}

// Whether each node knows all nodes, and that all slots are served.
bool redis_cluster::complete() const {
    return std::all_of(nodes_.begin(), nodes_.end(), [this](const auto& each) {
        auto info = each->connect().command({"CLUSTER", "INFO"}).text;
        return info.find("cluster_state:ok") != std::string::npos &&
               info.find("cluster_known_nodes:" + std::to_string(size())) != std::string::npos;
    });
}

std::string redis_cluster::id_of(std::size_t index) {
    return node(index).connect().command({"CLUSTER", "MYID"}).text;
}

std::string redis_cluster::slot_of(const std::string& key) {
    for (const auto& each : nodes_) {
        if (each->runs())
            return std::to_string(each->connect().command({"CLUSTER", "KEYSLOT", key}).number);
    }
    throw std::runtime_error("no node runs");
}

// A node that has the slot answers, and any other one refuses.
std::size_t redis_cluster::owner_of(const std::string& key) {
    for (std::size_t i = 0; i < size(); ++i) {
        if (node(i).runs() && !node(i).connect().try_command({"TTL", key}).is_error())
            return i;
    }
    throw std::runtime_error("nobody has the slot of " + key);
}

void redis_cluster::move_keys(
    const std::string& slot, std::size_t from, std::size_t to, std::size_t most
) {
    auto source = node(from).connect();
    const auto keys =
        source.command({"CLUSTER", "GETKEYSINSLOT", slot, std::to_string(most)}).texts();
    for (const auto& each : keys)
        source.command({"MIGRATE", "127.0.0.1", port_of(node(to)), each, "0", "5000"});
}

void redis_cluster::begin_to_move(const std::string& key, std::size_t to, part moved) {
    const auto slot = slot_of(key);
    const auto from = owner_of(key);
    node(to).connect().command({"CLUSTER", "SETSLOT", slot, "IMPORTING", id_of(from)});
    auto source = node(from).connect();
    source.command({"CLUSTER", "SETSLOT", slot, "MIGRATING", id_of(to)});
    if (moved == part::none)
        return;
    const auto count = source.command({"CLUSTER", "COUNTKEYSINSLOT", slot}).number;
    move_keys(slot, from, to, static_cast<std::size_t>(count) / 2);
}

void redis_cluster::end_moving(const std::string& key, std::size_t to) {
    const auto slot = slot_of(key);
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < size(); ++i) {
        if (i != to && is_primary(i))
            others.push_back(i);
    }
    for (const std::size_t each : others)
        move_keys(slot, each, to, slots);
    const auto id = id_of(to);
    node(to).connect().command({"CLUSTER", "SETSLOT", slot, "NODE", id});
    for (const std::size_t each : others)
        node(each).connect().command({"CLUSTER", "SETSLOT", slot, "NODE", id});
}

bool redis_cluster::is_primary(std::size_t index) const {
    return node(index).runs() && node(index).connect().command({"ROLE"}).at(0).is("master");
}

bool redis_cluster::is_whole() const {
    const auto runs = [](const auto& each) { return each->runs(); };
    if (!std::all_of(nodes_.begin(), nodes_.end(), runs) || !complete())
        return false;
    for (std::size_t i = 0; i < primaries; ++i) {
        const bool leads = is_primary(i);
        if (leads == is_primary(partner_of(i)))
            return false;
        auto replication = node(leads ? partner_of(i) : i).connect().info("replication");
        if (replication["master_link_status"] != "up")
            return false;
    }
    return true;
}

std::size_t redis_cluster::wait_for_other_owner(const std::string& key, std::size_t old) {
    std::size_t now = old;
    const auto there = [&] {
        for (std::size_t i = 0; i < size() && now == old; ++i) {
            if (i == old || !node(i).runs())
                continue;
            if (is_primary(i) && !node(i).connect().try_command({"TTL", key}).is_error())
                now = i;
        }
        return now != old;
    };
    if (!eventually(there, agreement_max))
        throw std::runtime_error("no other node takes over:\n" + node(other_than(old)).log());
    return now;
}

redis_cluster& shared_cluster() {
    static redis_cluster cluster;
    return cluster;
}

}  // namespace mortise::test
