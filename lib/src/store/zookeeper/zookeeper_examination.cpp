// SPDX-License-Identifier: BSL-1.0
// What the promises of the store rest on, as far as the servers tell.
#include "store/zookeeper/zookeeper_views.hpp"
#include "zookeeper/zk_error.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

namespace mortise::store_detail {
namespace {

using verdict = store_finding::verdict;

store_finding finding(verdict judgement, std::string subject, std::string text) {
    store_finding one;
    one.judgement = judgement;
    one.subject = std::move(subject);
    one.found = std::move(text);
    return one;
}

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
    const auto written = link_->set(link_->config().root, "");
    const auto asked = link_->get("/zookeeper/config");
    auto writing = written->take();
    const auto write = co_await std::move(writing);
    if (write.failed)
        co_return link_->meaning_of(write.failed);
    auto reading = asked->take();
    const auto config = co_await std::move(reading);
    std::vector<store_finding> all;
    constexpr unsigned epoch_bits = 32;
    const auto epoch = write.stat.modified >> epoch_bits;
    all.push_back(finding(
        verdict::holds,
        "tokens",
        "They are numbers of the ensemble's transactions, and grow as long as its data is kept; "
        "this is epoch " +
            std::to_string(epoch) + " of 2097152."
    ));
    const auto timeout = link_->timeout().count();
    all.push_back(finding(
        timeout == 0 ? verdict::weak : verdict::holds,
        "sessions",
        timeout == 0 ? std::string("There is no session yet, so its time-out is not known.")
                     : "The servers end a session after " + std::to_string(timeout) +
                           " ms without a word; its leases end before."
    ));
    const auto voters = config.failed ? 0 : voters_in(config.data);
    all.push_back(
        voters < 3 ? finding(
                         verdict::weak,
                         "ensemble",
                         "A server alone keeps the locks: while it is away nobody gets any. Three "
                         "servers bear the loss of one."
                     )
                   : finding(
                         verdict::holds,
                         "ensemble",
                         std::to_string(voters) + " servers vote; " +
                             std::to_string((voters - 1) / 2) + " may be away."
                     )
    );
    all.push_back(finding(
        verdict::holds,
        "clocks",
        "Deadlines rest on no time of day. The servers' tickTime must not be longer than " +
            std::to_string(link_->config().tick.count()) + " ms (tick_ms)."
    ));
    all.push_back(
        link_->config().user.empty()
            ? finding(
                  verdict::weak,
                  "rights",
                  "Whoever reaches the servers may delete the nodes of locks: name a user and a "
                  "password, for digest authentication."
              )
            : finding(verdict::holds, "rights", "Only this user may touch the nodes of the store.")
    );
    co_return all;
}

}  // namespace mortise::store_detail
