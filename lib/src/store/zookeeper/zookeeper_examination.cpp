// SPDX-License-Identifier: BSL-1.0
// What the promises of the store rest on, as far as the servers tell.
#include "store/zookeeper/ensemble_facts.hpp"
#include "store/zookeeper/zookeeper_views.hpp"
#include "zookeeper/zk_error.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

namespace mortise::store_detail {

using zookeeper_detail::zk_code;

namespace {

/// How long one server may take to answer all questions.
constexpr std::chrono::milliseconds probe_patience(5'000);

std::size_t voters_in(const std::string& config) {
    std::istringstream lines(config);
    std::size_t count = 0;
    for (std::string each; std::getline(lines, each);) {
        if (each.starts_with("server.") && each.find(":observer") == std::string::npos)
            ++count;
    }
    return count;
}

}  // namespace

asio::awaitable<result<std::vector<store_finding>>> zookeeper_views::examine() {
    const auto link = link_;
    const auto& config = link->config();
    const auto written = link->set(link->sessions_path(), "");
    const auto asked = link->get("/zookeeper/config");
    auto writing = written->take();
    const auto write = co_await std::move(writing);
    const bool missing = write.failed == zk_code::no_node && !link->has_store();
    if (write.failed && !missing)
        co_return link->meaning_of(write.failed);
    auto reading = asked->take();
    const auto members = co_await std::move(reading);
    ensemble_facts facts;
    constexpr unsigned epoch_bits = 32;
    facts.epoch = write.stat.modified >> epoch_bits;
    if (missing)
        facts.missing = config.root;
    facts.voters = members.failed ? 0 : voters_in(members.data);
    facts.tick = config.tick;
    facts.login = !config.user.empty();
    facts.timeout = link->timeout();
    if (facts.timeout != std::chrono::milliseconds::zero())
        facts.ttl = link->session().ttl;
    for (const auto& each : config.servers) {
        auto asking = link->servers().probe(
            link->executor(),
            link->clock_source(),
            each,
            std::min(probe_patience, config.connect_max)
        );
        auto report = co_await std::move(asking);
        facts.servers.push_back(std::move(report));
    }
    co_return facts.findings();
}

}  // namespace mortise::store_detail
