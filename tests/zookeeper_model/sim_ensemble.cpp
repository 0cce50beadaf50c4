// SPDX-License-Identifier: BSL-1.0
#include "zookeeper_model/sim_ensemble.hpp"

#include "mortise/sim/network.hpp"
#include "mortise/sim/world.hpp"
#include "zookeeper_model/sim_server.hpp"
#include "zookeeper_model/sim_session.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace mortise::zookeeper_model {
namespace {

namespace asio = boost::asio;

// By real sockets nobody would be found there.
constexpr const char* address_of_servers = "127.0.0.1";

// Not asked by messages: what an ensemble is examined for is tested at a real one.
asio::awaitable<store_detail::server_report>
report_of(ensemble_settings how, zookeeper_address server) {
    store_detail::server_report report;
    report.name = server.host + ':' + std::to_string(server.port);
    report.addresses = 1;
    report.granted_min = 2 * how.tick;
    report.granted_max = how.session_max;
    co_return report;
}

}  // namespace

sim_ensemble::sim_ensemble(sim::world& in, std::size_t servers, ensemble_settings how)
    : world_(in), how_(how) {
    for (std::size_t i = 0; i < servers; ++i) {
        auto& host = world_.add_process("server " + std::to_string(i));
        servers_.push_back(std::make_unique<sim_server>(*this, i, host));
    }
}

sim_ensemble::~sim_ensemble() = default;

sim_server* sim_ensemble::leader() {
    sim_server* found = nullptr;
    for (const auto& each : servers_) {
        if (each->leads() && (!found || each->epoch() > found->epoch()))
            found = each.get();
    }
    return found;
}

std::vector<zookeeper_address> sim_ensemble::addresses() const {
    std::vector<zookeeper_address> all;
    for (std::size_t i = 0; i < size(); ++i)
        all.emplace_back(address_of_servers, static_cast<std::uint16_t>(i + 1));
    return all;
}

sim_server* sim_ensemble::find(const std::string& address) {
    const auto known = addresses();
    for (std::size_t i = 0; i < known.size(); ++i) {
        if (known[i].host + ':' + std::to_string(known[i].port) == address)
            return servers_[i].get();
    }
    return nullptr;
}

store_detail::ensemble_access sim_ensemble::access(sim::process& client) {
    store_detail::ensemble_access servers;
    servers.make_session = [this, &client](auto strand, auto time, auto how, auto to) {
        return std::make_shared<sim_session>(
            *this, client, std::move(strand), std::move(time), std::move(how), std::move(to)
        );
    };
    servers.probe = [how = how_](auto, auto, zookeeper_address server, auto) {
        return report_of(how, std::move(server));
    };
    return servers;
}

const znode_tree& sim_ensemble::tree() const {
    const auto best =
        std::max_element(servers_.begin(), servers_.end(), [](const auto& one, const auto& other) {
            return one->tree().last() < other->tree().last();
        });
    return (*best)->tree();
}

void sim_ensemble::end_session(session_number id) {
    if (auto* const by = leader())
        by->host().post([by, id] { by->end_session(id); });
}

session_number sim_ensemble::new_session() {
    return static_cast<session_number>(world_.random().next() >> 1U) | 1;
}

void sim_ensemble::look_for_leader() {
    if (std::exchange(electing_, true))
        return;
    constexpr std::chrono::microseconds at_once(100);
    const auto span = how_.tick + world_.random().around(how_.tick);
    world_.after(size() == 1 ? at_once : span, [this] {
        electing_ = false;
        elect();
    });
}

bool sim_ensemble::reach(sim_server& one, sim_server& other) const {
    auto& net = world_.net();
    return !net.between(one.host(), other.host()).cut && !net.between(other.host(), one.host()).cut;
}

// Who sees the present leader joins it. If a majority sees none, the one of them leads that has
// written down most.
void sim_ensemble::elect() {
    auto* const present = leader();
    std::vector<sim_server*> seekers;
    bool waits = false;
    for (const auto& each : servers_) {
        if (!each->looks())
            continue;
        waits = true;
        if (!each->awake())
            continue;
        const bool newest = present && present->epoch() == epoch_;
        if (newest && present->awake() && reach(*each, *present))
            each->host().post([seeker = each.get(), present] { seeker->follow(*present); });
        else
            seekers.push_back(each.get());
    }
    std::sort(seekers.begin(), seekers.end(), [](const auto* one, const auto* other) {
        return std::tuple(one->epoch(), one->last_logged()) >
               std::tuple(other->epoch(), other->last_logged());
    });
    for (auto* const best : seekers) {
        const auto voters = std::count_if(seekers.begin(), seekers.end(), [&](auto* each) {
            return each == best || reach(*each, *best);
        });
        if (static_cast<std::size_t>(voters) < quorum())
            continue;
        best->host().post([best, epoch = ++epoch_] { best->lead(epoch); });
        break;
    }
    if (waits)
        look_for_leader();
}

}  // namespace mortise::zookeeper_model
