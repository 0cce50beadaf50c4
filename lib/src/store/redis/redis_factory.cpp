// SPDX-License-Identifier: BSL-1.0
#include "mortise/store/redis.hpp"
#include "store/redis/cluster_wire.hpp"
#include "store/redis/lock_buckets.hpp"
#include "store/redis/redis_examination.hpp"
#include "store/redis/redis_scripts.hpp"
#include "store/redis/redis_stores.hpp"
#include "store/redis/sentinel_circle.hpp"
#include "store/redis/single_key_values.hpp"
#include "store/redis/socket_wire.hpp"
#include "store/redis/store_keys.hpp"
#include "store/store_domain.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

namespace mortise {
namespace {

std::string prefix_of(const redis_store_config& config) {
    const bool none = config.prefix.empty() && config.form == redis_form::queue;
    return none ? "mortise:" : config.prefix;
}

[[noreturn]] void refuse(std::string value, std::string remedy) {
    throw error(errc::bad_config, std::move(value), std::move(remedy));
}

void check_address(const redis_address& address) {
    if (address.host.empty())
        refuse("host = \"\"", "name the host of the server");
    if (address.port == 0)
        refuse("port = 0", "give a port from 1 to 65535");
}

void check_login(const std::string& origin, const std::string& user, const std::string& password) {
    if (!user.empty() && password.empty())
        refuse(origin + " = \"" + user + '"', "give the user's password, too");
}

void check_place(const redis_store_config& config) {
    constexpr std::size_t path_max = 107;  // What the kernel takes.
    const auto path = config.unix_socket.string();
    if (path.size() > path_max)
        refuse("unix_socket = \"" + path + '"', "use a path of at most 107 bytes");
    if (!path.empty() && !config.sentinels.empty())
        refuse("unix_socket", "leave it out: sentinels name a host and a port");
    if (!path.empty() && config.tls)
        refuse("unix_socket", "leave TLS out: nobody listens between two processes of a host");
    if (!config.cluster.empty() && !(path.empty() && config.sentinels.empty()))
        refuse(
            "cluster", "leave the sentinels, or the socket, out: the nodes tell which has a slot"
        );
    if (!config.cluster.empty() && config.allow_unseen_restarts)
        refuse("allow_unseen_restarts", "leave it out: a node that takes over must be noticed");
    if (!config.cluster.empty() &&
        (config.buckets == 0 || config.buckets > store_detail::lock_buckets::count_max))
        refuse("buckets = " + std::to_string(config.buckets), "use 1 to 1024 buckets");
    if (!config.cluster.empty() && config.database != 0)
        refuse("database", "leave it out: a cluster has no other than 0");
    if (path.empty() && config.sentinels.empty() && config.cluster.empty())
        check_address(config.server);
}

void check_client_name(const std::string& name) {
    const bool printable =
        std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c <= '~'; });
    if (name.empty() || name.size() > 64 || !printable)
        refuse("client_name = \"" + name + '"', "use 1 to 64 printable characters, no space");
}

void check_single_key(const redis_store_config& config) {
    if (!config.cluster.empty())
        refuse("form", "use the queue form: the keys of this one lie in many slots of a cluster");
    if (config.min_replicas != 0)
        refuse("min_replicas", "leave it out: only the queue form waits for replicas");
    if (config.assume_new)
        refuse("assume_new", "leave it out: only the queue form waits after a restart");
    if (!config.tokens && !config.domain.empty())
        refuse("domain", "leave it out, or ask for tokens (tokens=1)");
}

void check(const redis_store_config& config) {
    constexpr std::size_t prefix_max = 64;
    if (config.prefix.size() > prefix_max ||
        !store_detail::redis_scripts::prefix_allowed(config.prefix)) {
        refuse(
            "prefix = \"" + config.prefix + '"',
            "use up to 64 printable characters but quotes, backslash and braces"
        );
    }
    store_detail::check_wanted_domain(config.domain);
    if (config.form == redis_form::single_key)
        check_single_key(config);
    check_place(config);
    for (const auto* const places : {&config.sentinels, &config.cluster}) {
        for (const auto& each : *places)
            check_address(each);
    }
    if (!config.sentinels.empty() && config.primary_name.empty())
        refuse("primary_name = \"\"", "say what the sentinels call the primary");
    if (config.certificate_file.empty() != config.key_file.empty())
        refuse("certificate_file, key_file", "give both or neither");
    for (const auto& each : {config.ca_file, config.certificate_file, config.key_file}) {
        if (!each.empty() && !std::ifstream(each))
            refuse(each.string(), "name a file that can be read");
    }
    if (config.connect_max <= std::chrono::milliseconds::zero() ||
        config.connect_max > std::chrono::hours(24))
        refuse("connect_max", "use one millisecond to one day");
    if (config.busy_poll_max < std::chrono::microseconds::zero() ||
        config.busy_poll_max > std::chrono::milliseconds(1))
        refuse("busy_poll_max", "use at most one millisecond, or zero for never");
    if (config.longest_ttl <= std::chrono::milliseconds::zero() ||
        config.longest_ttl > std::chrono::hours(24))
        refuse("longest_ttl", "use one millisecond to one day");
    check_client_name(config.client_name);
    constexpr std::size_t host_max = 255;
    if (config.tls_name.size() > host_max)
        refuse("tls_name", "use the name of a host, of at most 255 characters");
    if (config.ask_login && !(config.user.empty() && config.password.empty()))
        refuse("user, password, ask_login", "give the login, or ask_login");
    check_login("user", config.user, config.password);
    check_login("sentinel_user", config.sentinel_user, config.sentinel_password);
}

using store_detail::cluster_settings;
using store_detail::sentinel_settings;
using store_detail::wire_settings;

wire_settings wire_settings_of(const redis_store_config& config) {
    wire_settings wire;
    wire.host = config.server.host;
    wire.port = config.server.port;
    wire.socket = config.unix_socket;
    wire.database = config.database;
    wire.login.user = config.user;
    wire.login.password = config.password;
    wire.ask_login = config.ask_login;
    wire.client_name = config.client_name;
    wire.no_evict = config.no_evict;
    wire.tls = config.tls;
    wire.tls_name = config.tls_name;
    wire.ca_file = config.ca_file;
    wire.certificate_file = config.certificate_file;
    wire.key_file = config.key_file;
    wire.connect_max = config.connect_max;
    wire.busy_poll_max = config.busy_poll_max;
    return wire;
}

// Limits a connection to a sentinel to half of `connect_max`: the whole opening must not last
// longer than `connect_max`, so the other half is left for the server.
sentinel_settings sentinel_settings_of(const redis_store_config& config) {
    sentinel_settings all;
    all.server = wire_settings_of(config);
    all.primary_name = config.primary_name;
    all.remembered = std::make_shared<store_detail::named_primary>();
    for (const auto& each : config.sentinels) {
        wire_settings sentinel = all.server;
        sentinel.host = each.host;
        sentinel.port = each.port;
        sentinel.database = 0;
        sentinel.login.user = config.sentinel_user;
        sentinel.login.password = config.sentinel_password;
        sentinel.ask_login = nullptr;
        sentinel.role = store_detail::redis_role::sentinel;
        sentinel.connect_max = config.connect_max / 2;
        sentinel.busy_poll_max = std::chrono::microseconds::zero();
        all.sentinels.push_back(std::move(sentinel));
    }
    return all;
}

cluster_settings cluster_settings_of(const redis_store_config& config) {
    cluster_settings all;
    all.node = wire_settings_of(config);
    all.node.role = store_detail::redis_role::node;
    all.key = store_detail::store_keys(prefix_of(config)).of("s");
    all.known = std::make_shared<store_detail::cluster_nodes>(config.cluster);
    return all;
}

std::string name_of(const redis_store_config& config) {
    if (!config.cluster.empty())
        return "the cluster of " + store_detail::text_of(config.cluster.front());
    if (!config.sentinels.empty())
        return config.primary_name + " by sentinels";
    if (!config.unix_socket.empty())
        return config.unix_socket.string();
    return config.server.host + ':' + std::to_string(config.server.port);
}

std::unique_ptr<store> make_single_key(
    const redis_store_config& config,
    store_detail::link_settings settings,
    store_detail::redis_wire_factory wires
) {
    token_domain tokens;
    if (config.tokens) {
        const std::string_view name = config.domain;
        tokens = token_domain::parse(name.empty() ? store_detail::single_key_domain : name).value();
    }
    store_detail::redis_examination known;
    known.name = settings.name;
    known.tls = config.tls;
    known.fails_over = !config.sentinels.empty();
    known.single_key = true;
    known.tokens = config.tokens;
    return store_detail::make_single_key_store(
        std::move(settings), std::move(wires), tokens, known
    );
}

}  // namespace

store_detail::link_settings store_detail::checked_link_settings(const redis_store_config& config) {
    check(config);
    link_settings settings;
    settings.prefix = prefix_of(config);
    settings.cluster = !config.cluster.empty();
    settings.domain = config.domain;
    settings.accepted.eviction = config.allow_eviction;
    settings.accepted.unseen_restarts = config.allow_unseen_restarts;
    settings.assume_new = config.assume_new;
    settings.longest_ttl = config.longest_ttl;
    settings.min_replicas = config.min_replicas;
    settings.connect_max = config.connect_max;
    settings.name = name_of(config);
    return settings;
}

std::unique_ptr<store>
store_detail::make_redis_store(const redis_store_config& config, redis_wire_factory wires) {
    auto settings = checked_link_settings(config);
    if (config.form == redis_form::single_key)
        return make_single_key(config, std::move(settings), std::move(wires));
    return make_queue_store(config, std::move(settings), std::move(wires));
}

store_detail::redis_wire_factory store_detail::wires_to(const redis_store_config& config) {
    if (!config.sentinels.empty()) {
        return [settings = sentinel_settings_of(config)](const asio::any_io_executor& strand) {
            return make_sentinel_wire(strand, settings);
        };
    }
    if (!config.cluster.empty()) {
        return [settings = cluster_settings_of(config)](const asio::any_io_executor& strand) {
            return make_cluster_wire(strand, settings);
        };
    }
    return [settings = wire_settings_of(config)](const asio::any_io_executor& strand) {
        return make_socket_wire(strand, settings);
    };
}

std::unique_ptr<store> make_redis_store(redis_store_config config) {
    if (!config.cluster.empty() && config.buckets != 1) {
        auto settings = store_detail::checked_link_settings(config);
        auto node = wire_settings_of(config);
        node.role = store_detail::redis_role::node;
        return store_detail::make_bucketed_store(config, std::move(settings), std::move(node));
    }
    return store_detail::make_redis_store(config, store_detail::wires_to(config));
}

}  // namespace mortise
