// SPDX-License-Identifier: BSL-1.0
#include "support/redlock_servers.hpp"

#include <algorithm>
#include <utility>

namespace mortise::test {

redlock_servers::redlock_servers(std::size_t count, const redis_server::settings& chosen) {
    for (std::size_t index = 0; index < count; ++index)
        servers_.push_back(std::make_unique<redis_server>(chosen));
}

redlock_store_config redlock_servers::config() const {
    redlock_store_config config;
    for (const auto& each : servers_)
        config.servers.emplace_back("127.0.0.1", each->port());
    config.assume_new = true;
    config.longest_ttl = std::chrono::minutes(10);
    return config;
}

// All keys but those by which a node describes itself: its record and the counters of locks.
std::vector<std::string> redlock_servers::keys(std::size_t index, const std::string& prefix) {
    std::vector<std::string> found;
    if (!at(index).runs())
        return found;
    const std::string begin = '{' + prefix + '}';
    auto server = at(index).connect();
    for (const auto& key : server.command({"KEYS", begin + "*"}).texts()) {
        if (key != begin + "id" && key != begin + "k")
            found.push_back(key);
    }
    return found;
}

std::int64_t redlock_servers::sessions(const std::string& prefix) {
    std::int64_t most = 0;
    for (const auto& each : servers_)
        most = std::max(most, each->connect().command({"ZCARD", '{' + prefix + "}d"}).number);
    return most;
}

std::size_t redlock_servers::residue(const std::string& prefix) {
    std::size_t most = 0;
    for (std::size_t index = 0; index < size(); ++index)
        most = std::max(most, keys(index, prefix).size());
    return most;
}

std::string redlock_servers::left(const std::string& prefix) {
    std::string text = "keys:";
    for (std::size_t index = 0; index < size(); ++index) {
        for (const auto& key : keys(index, prefix))
            text += ' ' + std::to_string(index) + key;
    }
    return text;
}

redlock_servers& shared_nodes() {
    static redlock_servers servers(3);
    return servers;
}

}  // namespace mortise::test
