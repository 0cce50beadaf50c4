// SPDX-License-Identifier: BSL-1.0
#include "support/sentinel_set.hpp"

#include "support/eventually.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <system_error>

namespace mortise::test {
namespace {

constexpr std::size_t server_count = 3;
constexpr std::size_t sentinel_count = 3;
constexpr std::size_t quorum = 2;
constexpr auto limit = std::chrono::seconds(30);

// A sentinel that looks for a replica to promote wants one that it has heard of in the last five of
// these periods; while the primary is down it asks them once a second.
constexpr const char* ping_period = "300";
// A connection that has ended is made again after a ping period at the earliest, and promotion ends
// connections: a new primary must not be taken for dead meanwhile.
constexpr const char* down_after = "1200";

/// Tells a sentinel how often to do things, in milliseconds; its defaults are slow.
void hurry(const redis_server& sentinel, const char* publish_period) {
    sentinel.connect().command(
        {"SENTINEL",
         "DEBUG",
         "INFO-PERIOD",
         "100",
         "ASK-PERIOD",
         "100",
         "PING-PERIOD",
         ping_period,
         "ELECTION-TIMEOUT",
         "1000",
         "PUBLISH-PERIOD",
         publish_period}
    );
}

// Sentinels find each other by what they publish: often, until all know each other.
constexpr const char* until_complete = "100";
// A replica that says it is the primary is set right by the sentinels that have not heard of its
// promotion for four of these periods. The one that promotes it sees that it worked after a second.
constexpr const char* from_then_on = "600";

std::string monitored() {
    return std::string(sentinel_set::name) + ' ';
}

}  // namespace

sentinel_set::sentinel_set(const redis_server::settings& chosen) {
    for (std::size_t i = 0; i < server_count; ++i) {
        redis_server::settings settings = chosen;
        if (i > 0)
            settings.push_back(replica_of(server(0)));
        servers_.push_back(std::make_unique<redis_server>(settings));
    }
    raw_redis first = server(0).connect();
    await_replicas(first, server_count - 1);
    start_sentinels();
    if (!eventually([this] { return complete(); }, limit))
        throw std::runtime_error("the sentinels do not find each other:\n" + sentinel(0).log());
    for (const auto& each : sentinels_)
        hurry(*each, from_then_on);
}

void sentinel_set::start_sentinels() {
    const std::string of = monitored();
    const redis_server::settings settings = {
        "sentinel monitor " + of + "127.0.0.1 " + std::to_string(server(0).port()) + ' ' +
            std::to_string(quorum),
        "sentinel down-after-milliseconds " + of + down_after,
        "sentinel failover-timeout " + of + "3000",
        "sentinel parallel-syncs " + of + "2",
    };
    for (std::size_t i = 0; i < sentinel_count; ++i) {
        sentinels_.push_back(std::make_unique<redis_server>(settings, redis_server::kind::sentinel)
        );
        hurry(*sentinels_.back(), until_complete);
    }
}

// Whether each sentinel knows the replicas and the other sentinels.
bool sentinel_set::complete() {
    return std::all_of(sentinels_.begin(), sentinels_.end(), [](const auto& each) {
        const redis_value known = each->connect().command({"SENTINEL", "MASTER", name});
        return known.at("num-slaves").text == std::to_string(server_count - 1) &&
               known.at("num-other-sentinels").text == std::to_string(sentinel_count - 1) &&
               known.at("flags").text == "master";
    });
}

std::vector<std::uint16_t> sentinel_set::sentinel_ports() const {
    std::vector<std::uint16_t> ports;
    for (const auto& each : sentinels_)
        ports.push_back(each->port());
    return ports;
}

// The port of the primary that a quorum of sentinels names; zero if too few agree.
std::uint16_t sentinel_set::named_primary() {
    std::map<std::uint16_t, std::size_t> votes;
    for (const auto& each : sentinels_) {
        if (!each->runs())
            continue;
        const redis_value address =
            each->connect().command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", name});
        const auto port = static_cast<std::uint16_t>(std::stoul(address.at(1).text));
        if (++votes[port] >= quorum)
            return port;
    }
    return 0;
}

redis_server* sentinel_set::primary() {
    const std::uint16_t port = named_primary();
    for (const auto& each : servers_) {
        if (each->port() != port || !each->runs())
            continue;
        try {
            const redis_value role = each->connect().try_command({"ROLE"});
            return !role.is_error() && role.at(0).is("master") ? each.get() : nullptr;
        } catch (const std::system_error&) {
            return nullptr;
        }
    }
    return nullptr;
}

void sentinel_set::failover() {
    // It refuses while it has no replica that is fresh enough, or while one is being promoted.
    redis_value answer;
    const auto done = [&] {
        answer = sentinel(0).connect().try_command({"SENTINEL", "FAILOVER", name});
        return !answer.is_error();
    };
    if (!eventually(done, limit))
        throw std::runtime_error("a sentinel refuses: " + answer.text);
}

redis_server& sentinel_set::kill_primary() {
    redis_server* const now = primary();
    if (now == nullptr)
        throw std::runtime_error("there is no primary");
    now->kill();
    return *now;
}

redis_server& sentinel_set::wait_for_new_primary(const redis_server& old) {
    redis_server* now = nullptr;
    const auto there = [&] {
        now = primary();
        return now != nullptr && now != &old;
    };
    if (!eventually(there, limit))
        throw std::runtime_error("no other primary:\n" + sentinel(0).log());
    return *now;
}

}  // namespace mortise::test
