// SPDX-License-Identifier: BSL-1.0
#include "store/redlock/redlock_store.hpp"

#include "store/redis/redis_stores.hpp"
#include "store/redlock/redlock_examination.hpp"
#include "store/redlock/redlock_requests.hpp"
#include "store/redlock/redlock_views.hpp"

#include <set>
#include <string>
#include <utility>

namespace mortise {
namespace {

class redlock_store final : public store {
public:
    redlock_store(
        std::shared_ptr<store_detail::node_group> nodes,
        const token_domain& tokens,
        std::chrono::milliseconds longest_ttl
    )
        : longest_ttl_(longest_ttl),
          nodes_(std::move(nodes)),
          requests_(std::make_shared<store_detail::redlock_requests>(nodes_, tokens)),
          views_(std::make_shared<store_detail::redlock_views>(nodes_, tokens)) {}
    ~redlock_store() override { requests_->detach(); }

    store_traits traits() const noexcept override {
        store_traits traits;
        traits.scheme = "redlock";
        traits.remote = true;
        traits.strength = nodes_->strength();
        traits.push = true;
        traits.server_clock = true;
        traits.records = traits.counts = false;
        traits.ttl_min = std::chrono::milliseconds(100);
        traits.ttl_max = longest_ttl_;  // A quarantine is no longer than that.
        return traits;
    }

    void attach(
        asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
    ) override {
        requests_->attach(std::move(strand), events, std::move(time));
    }
    void detach() noexcept override { requests_->detach(); }

    asio::awaitable<result<resumed>> resume(session_start start) override {
        return requests_->resume(std::move(start));
    }
    asio::awaitable<error_code> end() override { return requests_->end(); }
    asio::awaitable<result<answer>> request(lock_request request) override {
        return requests_->request(std::move(request));
    }
    asio::awaitable<error_code> withdraw(std::string name, request_id id) override {
        return requests_->withdraw(std::move(name), id);
    }
    asio::awaitable<result<bool>> release(grant held) override {
        return requests_->release(std::move(held));
    }
    asio::awaitable<result<heartbeat>> beat(proof_number number) override {
        return requests_->beat(number);
    }
    asio::awaitable<result<session_view>> look(proof_number number) override {
        return requests_->look(number);
    }
    asio::awaitable<result<token_range>> draw(grant held) override {
        return requests_->draw(std::move(held));
    }

    asio::awaitable<result<std::vector<lock_view>>>
    list(std::string after, std::size_t limit, std::size_t queue_max) override {
        return views_->list(std::move(after), limit, queue_max);
    }
    asio::awaitable<result<std::optional<lock_view>>>
    inspect(std::string name, std::size_t queue_max) override {
        std::vector<std::string> one;
        one.push_back(std::move(name));
        auto viewing = views_->views(std::move(one), queue_max);
        auto seen = co_await std::move(viewing);
        if (!seen)
            co_return seen.error();
        std::optional<lock_view> lock;
        if (!seen->empty())
            lock = std::move(seen->front());
        co_return lock;
    }
    asio::awaitable<result<bool>> break_(break_order order) override {
        return views_->break_(std::move(order));
    }
    asio::awaitable<result<std::vector<break_record>>> breaks(std::string, std::size_t) override {
        co_return error_code(errc::unsupported);
    }
    asio::awaitable<error_code> watch() override { co_return errc::unsupported; }
    asio::awaitable<result<std::vector<store_finding>>> examine() override {
        const auto examining = std::make_shared<store_detail::redlock_examination>(nodes_);
        auto running = examining->run();
        auto found = co_await std::move(running);
        co_return result<std::vector<store_finding>>(std::move(found));
    }
    std::string explain() const override { return nodes_->explain(); }

private:
    const std::chrono::milliseconds longest_ttl_;
    const std::shared_ptr<store_detail::node_group> nodes_;
    const std::shared_ptr<store_detail::redlock_requests> requests_;
    const std::shared_ptr<store_detail::redlock_views> views_;
};

constexpr std::size_t nodes_min = 3;
constexpr std::size_t nodes_max = 9;
constexpr std::string_view usual_domain = "redlock";

std::string text_of(const redis_address& address) {
    return address.host + ':' + std::to_string(address.port);
}

void check_servers(const std::vector<redis_address>& servers) {
    const std::string listed = std::to_string(servers.size()) + " servers";
    if (servers.size() < nodes_min)
        throw error(
            errc::bad_config, listed, "list 3 or more: a majority of fewer survives no failure"
        );
    if (servers.size() > nodes_max)
        throw error(errc::bad_config, listed, "list 9 at most: each acquire asks all of them");
    if (servers.size() % 2 == 0)
        throw error(
            errc::bad_config,
            listed,
            "list an odd number: one more than that survives no more failures"
        );
    std::set<std::string> known;
    for (const auto& each : servers) {
        if (!known.insert(text_of(each)).second)
            throw error(
                errc::bad_config, text_of(each), "list each server once: its vote must count once"
            );
    }
}

redis_store_config node_config(const redlock_store_config& config, const redis_address& server) {
    redis_store_config node;
    node.server = server;
    node.database = config.database;
    node.user = config.user;
    node.password = config.password;
    node.ask_login = config.ask_login;
    node.prefix = config.prefix;
    node.domain = config.domain;
    node.client_name = config.client_name;
    node.tls = config.tls;
    node.tls_name = config.tls_name;
    node.ca_file = config.ca_file;
    node.certificate_file = config.certificate_file;
    node.key_file = config.key_file;
    node.allow_eviction = config.allow_eviction;
    node.assume_new = config.assume_new;
    node.longest_ttl = config.longest_ttl;
    node.connect_max = config.connect_max;
    node.busy_poll_max = std::chrono::microseconds::zero();  // It would wait for one of several.
    return node;
}

}  // namespace

std::unique_ptr<store> store_detail::make_redlock_store(
    const redlock_store_config& config, const std::vector<redis_wire_factory>& wires
) {
    check_servers(config.servers);
    node_settings settings;
    settings.nodes = config.servers.size();
    settings.assume_new = config.assume_new;
    std::vector<std::shared_ptr<node_link>> nodes;
    for (const auto& each : config.servers) {
        const auto index = nodes.size();
        nodes.push_back(std::make_shared<node_link>(
            index, settings, checked_link_settings(node_config(config, each)), wires.at(index)
        ));
    }
    const std::string_view domain = config.domain.empty() ? usual_domain : config.domain;
    return std::make_unique<redlock_store>(
        std::make_shared<node_group>(std::move(nodes)),
        token_domain::parse(domain).value(),
        config.longest_ttl
    );
}

std::unique_ptr<store> make_redlock_store(redlock_store_config config) {
    std::vector<store_detail::redis_wire_factory> wires;
    for (const auto& each : config.servers)
        wires.push_back(store_detail::wires_to(node_config(config, each)));
    return store_detail::make_redlock_store(config, wires);
}

}  // namespace mortise
