// SPDX-License-Identifier: BSL-1.0
#include "store/redis/redis_stores.hpp"
#include "url/store_url.hpp"

#include <algorithm>
#include <charconv>
#include <string>

namespace mortise::store_detail {
namespace {

constexpr std::uint16_t server_port = 6379;
constexpr std::uint16_t sentinel_port = 26379;

// Refuses a number that is too large, which the conversion could make a small one.
unsigned replicas_in(const store_url& url) {
    constexpr std::size_t most = 1'000;
    const auto number = url.number("min_replicas", 0);
    if (number > most)
        url.refuse("ask for at most 1000 replicas (min_replicas)");
    return static_cast<unsigned>(number);
}

redis_form form_in(const store_url& url) {
    const auto form = url.option("form");
    if (form == "single_key")
        return redis_form::single_key;
    if (!form.empty() && form != "queue")
        url.refuse("name a form: queue or single_key");
    return redis_form::queue;
}

void read_login(redis_store_config& config, const server_url& server, const store_url& url) {
    config.user = server.user;
    config.password = url.secret("password", server.password);
}

void read_server(redis_store_config& config, const store_url& url) {
    const auto server = server_url::parse(url, server_port);
    read_login(config, server, url);
    if (server.places.size() != 1)
        url.refuse(
            "name one server; several of them are sentinels (redis+sentinel://) or a cluster "
            "(redis+cluster://)"
        );
    config.server = {server.places.front().host, server.places.front().port};
    config.database = database_in(server.path, url);
}

void read_cluster(redis_store_config& config, const store_url& url) {
    const auto server = server_url::parse(url, server_port);
    read_login(config, server, url);
    for (const auto& each : server.places)
        config.cluster.emplace_back(each.host, each.port);
    if (database_in(server.path, url) != 0)
        url.refuse("leave the database out: a cluster has no other than 0");
    constexpr unsigned most = 1'024;
    const auto buckets = url.number("buckets", config.buckets);
    if (buckets == 0 || buckets > most)
        url.refuse("use 1 to 1024 buckets");
    config.buckets = static_cast<unsigned>(buckets);
}

void read_socket(redis_store_config& config, const store_url& url) {
    const auto server = server_url::parse_local(url);
    read_login(config, server, url);
    if (server.path.empty())
        url.refuse("name the socket, as in redis+unix:///run/redis.sock");
    config.unix_socket = '/' + server.path;
    config.database = database_in(url.option("database"), url);
}

// Reads the sentinels and the part after the slash: the name of the primary, and maybe a database.
void read_sentinels(redis_store_config& config, const store_url& url) {
    const auto server = server_url::parse(url, sentinel_port);
    read_login(config, server, url);
    for (const auto& each : server.places)
        config.sentinels.emplace_back(each.host, each.port);
    const auto slash = server.path.find('/');
    config.primary_name = server.path.substr(0, slash);
    if (config.primary_name.empty())
        url.refuse("name the primary, as in redis+sentinel://localhost/mymaster");
    if (slash != std::string::npos)
        config.database = database_in(std::string_view(server.path).substr(slash + 1), url);
    config.sentinel_user = url.option("sentinel_user");
    config.sentinel_password = url.secret("sentinel_password", {});
}

}  // namespace

unsigned database_in(std::string_view text, const store_url& url) {
    unsigned number = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (!text.empty() && (wrong != std::errc() || end != text.data() + text.size()))
        url.refuse("name the database by its number, as in redis://localhost/0");
    return number;
}

bool is_redis_scheme(std::string_view scheme) noexcept {
    return scheme == "redis" || scheme == "rediss" || scheme == "redis+sentinel" ||
           scheme == "rediss+sentinel" || scheme == "redis+cluster" || scheme == "rediss+cluster" ||
           scheme == "redis+unix";
}

redis_store_config redis_config_of(const store_url& url) {
    const bool by_sentinels = url.scheme.ends_with("+sentinel");
    const bool by_cluster = url.scheme.ends_with("+cluster");
    const bool by_socket = url.scheme.ends_with("+unix");
    redis_store_config config;
    config.tls = url.scheme.starts_with("rediss");
    const std::initializer_list<std::string_view> options = {
        "form",
        "tokens",
        "prefix",
        "domain",
        "min_replicas",
        "allow_eviction",
        "allow_unseen_restarts",
        "assume_new",
        "longest_ttl_ms",
        "password_file",
        "password_env",
        "client_name",
        "no_evict",
        "connect_max_ms",
        "busy_poll_max_us"};
    const std::initializer_list<std::string_view> of_tls = {
        "ca_file", "certificate_file", "key_file", "tls_name"};
    const std::initializer_list<std::string_view> none = {};
    const std::initializer_list<std::string_view> of_cluster = {"buckets"};
    const std::initializer_list<std::string_view> of_sentinels = {
        "sentinel_user", "sentinel_password_file", "sentinel_password_env"};
    if (by_socket) {
        url.allow_options(options, {"database"});
        read_socket(config, url);
    } else if (by_sentinels) {
        url.allow_options(options, of_tls, of_sentinels);
        read_sentinels(config, url);
    } else {
        url.allow_options(options, of_tls, by_cluster ? of_cluster : none);
        by_cluster ? read_cluster(config, url) : read_server(config, url);
    }
    config.form = form_in(url);
    config.tokens = url.flag("tokens");
    config.prefix = url.option("prefix");
    config.domain = url.option("domain");
    config.min_replicas = replicas_in(url);
    config.allow_eviction = url.flag("allow_eviction");
    config.allow_unseen_restarts = url.flag("allow_unseen_restarts");
    config.assume_new = url.flag("assume_new");
    config.longest_ttl = url.milliseconds("longest_ttl_ms", config.longest_ttl);
    if (const auto name = url.option("client_name"); !name.empty())
        config.client_name = name;
    config.no_evict = url.flag("no_evict");
    config.tls_name = url.option("tls_name");
    config.ca_file = url.option("ca_file");
    config.certificate_file = url.option("certificate_file");
    config.key_file = url.option("key_file");
    config.connect_max = url.milliseconds("connect_max_ms", config.connect_max);
    config.busy_poll_max = url.microseconds("busy_poll_max_us", config.busy_poll_max);
    return config;
}

}  // namespace mortise::store_detail

namespace mortise {

redis_store_config parse_redis_url(std::string_view text) {
    const store_url url = store_url::parse(text);
    if (!store_detail::is_redis_scheme(url.scheme))
        throw error(errc::unknown_scheme, "\"" + url.scheme + "\"", "use redis://HOST");
    return store_detail::redis_config_of(url);
}

}  // namespace mortise
