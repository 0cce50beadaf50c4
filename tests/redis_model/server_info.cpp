// SPDX-License-Identifier: BSL-1.0
#include "redis_model/server_info.hpp"

#include "redis_model/server_state.hpp"
#include "redis_model/words.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::redis_model {
namespace {

class section {
public:
    explicit section(const char* title) : text_(std::string("# ") + title + "\r\n") {}

    void line(std::string_view name, std::string_view value) {
        text_.append(name).append(":").append(value).append("\r\n");
    }
    template <class N>
    void number(std::string_view name, N value) {
        line(name, std::to_string(value));
    }
    const std::string& text() const noexcept { return text_; }

private:
    std::string text_;
};

std::string setting(const server_state& of, const std::string& name) {
    const auto found = of.config.find(name);
    return found == of.config.end() ? std::string() : found->second;
}

section server(const server_state& of) {
    section result("Server");
    result.line("redis_version", "7.0.15");
    result.line("redis_mode", "standalone");
    result.line("os", "Linux");
    result.number("arch_bits", 64);
    result.line("run_id", of.run_id);
    result.number("server_time_usec", of.now_us);
    result.number("uptime_in_seconds", (of.now_us - of.started_us) / 1'000'000);
    result.number("hz", 10);
    return result;
}

section clients(const server_state& of) {
    section result("Clients");
    result.number("connected_clients", of.clients.size());
    const auto tracking = std::count_if(of.clients.begin(), of.clients.end(), [](const auto& each) {
        return each.second.tracks;
    });
    result.number("tracking_clients", tracking);
    return result;
}

section memory(const server_state& of) {
    section result("Memory");
    constexpr std::uint64_t used = 1'000'000;
    const std::string limit = setting(of, "maxmemory");
    result.number("used_memory", used);
    result.line("maxmemory", of.wrong.out_of_memory ? std::to_string(used / 2) : limit);
    result.line("maxmemory_policy", setting(of, "maxmemory-policy"));
    return result;
}

section persistence(const server_state& of) {
    section result("Persistence");
    result.number("loading", of.wrong.loading ? 1 : 0);
    result.number("async_loading", 0);
    result.number("rdb_changes_since_last_save", of.data.changes());
    result.line("rdb_last_bgsave_status", of.wrong.disk_failed ? "err" : "ok");
    result.number("aof_enabled", setting(of, "appendonly") == "yes" ? 1 : 0);
    result.line("aof_last_write_status", "ok");
    return result;
}

section stats(const server_state& of) {
    section result("Stats");
    result.number("total_connections_received", of.counts.connections);
    result.number("total_commands_processed", of.counts.commands);
    result.number("expired_keys", of.data.expired());
    result.number("evicted_keys", of.counts.evicted);
    result.number("pubsub_channels", 0);
    return result;
}

section replication(const server_state& of) {
    section result("Replication");
    result.line("role", of.wrong.read_only ? "slave" : "master");
    if (of.wrong.read_only) {
        result.line("master_host", "127.0.0.1");
        result.line("master_port", "6379");
        result.line("master_link_status", "up");
        result.number("slave_read_only", 1);
    }
    result.number("connected_slaves", of.replicas);
    for (std::size_t i = 0; i < of.replicas; ++i) {
        const std::string name = "slave" + std::to_string(i);
        result.line(name, "ip=127.0.0.1,port=6380,state=online,offset=0,lag=0");
    }
    result.line("master_failover_state", "no-failover");
    result.line("master_replid", of.run_id);
    result.line("master_replid2", of.former_id.empty() ? std::string(40, '0') : of.former_id);
    result.number("master_repl_offset", of.offset);
    return result;
}

section commandstats(const server_state& of) {
    section result("Commandstats");
    for (const auto& [name, calls] : of.counts.calls) {
        const auto failed = of.counts.failed.find(name);
        const auto failures = failed == of.counts.failed.end() ? 0 : failed->second;
        result.line(
            "cmdstat_" + name,
            "calls=" + std::to_string(calls) + ",usec=" + std::to_string(calls) +
                ",usec_per_call=1.00,rejected_calls=0,failed_calls=" + std::to_string(failures)
        );
    }
    return result;
}

section cluster(const server_state&) {
    section result("Cluster");
    result.number("cluster_enabled", 0);
    return result;
}

section keyspace_section(const server_state& of) {
    section result("Keyspace");
    const auto& keys = of.data.keys();
    const auto expiring = std::count_if(keys.begin(), keys.end(), [](const auto& each) {
        return each.second.expires.has_value();
    });
    if (!keys.empty())
        result.line(
            "db0",
            "keys=" + std::to_string(keys.size()) + ",expires=" + std::to_string(expiring) +
                ",avg_ttl=0"
        );
    return result;
}

struct known_section {
    const char* name;
    bool usual;
    section (*make)(const server_state&);
};

constexpr known_section known[] = {
    {"SERVER", true, &server},
    {"CLIENTS", true, &clients},
    {"MEMORY", true, &memory},
    {"PERSISTENCE", true, &persistence},
    {"STATS", true, &stats},
    {"REPLICATION", true, &replication},
    {"COMMANDSTATS", false, &commandstats},
    {"CLUSTER", true, &cluster},
    {"KEYSPACE", true, &keyspace_section},
};

}  // namespace

std::string server_info(const server_state& of, std::span<const std::string> sections) {
    std::string text;
    const auto named = [&](const char* name) {
        return std::any_of(sections.begin(), sections.end(), [name](const auto& each) {
            return is_word(each, name);
        });
    };
    const bool usual = sections.empty() || named("DEFAULT");
    const bool all = named("ALL") || named("EVERYTHING");
    for (const auto& each : known) {
        if (!all && !(usual && each.usual) && !named(each.name))
            continue;
        if (!text.empty())
            text += "\r\n";
        text += each.make(of).text();
    }
    return text;
}

}  // namespace mortise::redis_model
