// SPDX-License-Identifier: BSL-1.0
#include "store/redlock/redlock_examination.hpp"

#include "store/redis/words.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <utility>

namespace mortise::store_detail {
namespace {

using verdict = store_finding::verdict;

store_finding finding(verdict judged, std::string subject, std::string text) {
    store_finding result;
    result.judgement = judged;
    result.subject = std::move(subject);
    result.found = std::move(text);
    return result;
}

std::uint64_t number_in(const std::string& text) {
    words number(text);
    const auto found = number.number();
    return number.failed() ? 0 : found;
}

store_finding judge_node(const examined_node& node, std::size_t listed) {
    const std::string subject = "node " + node.name;
    if (!node.reached)
        return finding(verdict::weak, subject, "It cannot be asked: " + node.failure + '.');
    accepted_risks all;
    all.eviction = true;
    if (const auto failure = node.facts.judge(all, false); failure.code)
        return finding(
            verdict::broken, subject, failure.text + "; " + std::string(redis_remedy(failure)) + '.'
        );
    if (!node.is_new && node.nodes != listed)
        return finding(
            verdict::broken,
            subject,
            "It belongs to a store of " + std::to_string(node.nodes) + " nodes, and " +
                std::to_string(listed) + " are listed: list all of them, or use another prefix."
        );
    if (node.facts.may_evict(false))
        return finding(
            verdict::weak,
            subject,
            "When its memory is full it may throw votes and counters away (maxmemory-policy " +
                node.facts.eviction_policy + "): set noeviction."
        );
    if (node.facts.replicas != 0)
        return finding(
            verdict::weak,
            subject,
            "It has a replica: one that is promoted may have forgotten votes and counters. Give "
            "the nodes none, and let a node that is down stay down."
        );
    return finding(verdict::holds, subject, "It runs version " + node.facts.version + '.');
}

bool is_durable(const examined_node& node) {
    return node.facts.strength() == token_strength::strict;
}

store_finding judge_durability(const std::vector<examined_node>& nodes) {
    std::string names;
    for (const auto& each : nodes) {
        if (!is_durable(each))
            names += (names.empty() ? "" : ", ") + each.name;
    }
    if (names.empty())
        return finding(
            verdict::holds,
            "durability",
            "Each node has each change on its disk before it counts: one that restarts votes at "
            "once."
        );
    return finding(
        verdict::weak,
        "durability",
        "After a restart these nodes give no votes for the longest TTL: " + names +
            ". Set appendonly yes, appendfsync always, no-appendfsync-on-rewrite no."
    );
}

store_finding judge_tokens(const std::vector<examined_node>& nodes) {
    if (std::all_of(nodes.begin(), nodes.end(), is_durable))
        return finding(
            verdict::holds, "tokens", "They never repeat nor fall, whatever crashes (strict)."
        );
    return finding(
        verdict::weak,
        "tokens",
        "They grow over restarts and flushes of fewer than half of the nodes at a time; beyond "
        "that, as long as the nodes' clocks are not set back meanwhile."
    );
}

store_finding judge_sessions(const std::vector<examined_node>& nodes) {
    std::uint64_t most = 0;
    for (const auto& each : nodes)
        most = std::max(most, each.sessions);
    return finding(
        verdict::holds, "sessions", std::to_string(most) + " sessions are known to a node, at most."
    );
}

store_finding judge_votes(const std::vector<examined_node>& nodes) {
    std::size_t voting = 0;
    std::chrono::milliseconds longest{};
    for (const auto& each : nodes) {
        const bool votes = each.reached && each.knows_counters &&
                           each.quarantine == std::chrono::milliseconds::zero();
        voting += votes;
        longest = std::max(longest, each.quarantine);
    }
    std::string text =
        std::to_string(voting) + " of " + std::to_string(nodes.size()) + " nodes give votes";
    if (voting == nodes.size())
        return finding(verdict::holds, "votes", text + '.');
    text += ": the others cannot be reached, or are new, or may have forgotten votes";
    if (longest != longest.zero())
        text += ", and stay out for up to " + std::to_string(longest.count()) + " ms";
    if (voting > nodes.size() / 2)
        return finding(verdict::weak, "votes", text + ". A majority suffices.");
    return finding(verdict::weak, "votes", text + ". Without a majority nothing is granted.");
}

}  // namespace

bool examined_node::read_record(const redis_value& record, const redis_value& time) {
    if (record.items.size() != 3 || time.items.size() != 2)
        return false;
    is_new = record.items[2].type == redis_value::kind::null;
    knows_counters = record.items[0].text == "1";
    nodes = number_in(record.items[2].text);
    const auto until = number_in(record.items[1].text);
    const auto now = number_in(time.items[0].text) * 1'000'000 + number_in(time.items[1].text);
    if (until > now)
        quarantine =
            std::chrono::ceil<std::chrono::milliseconds>(std::chrono::microseconds(until - now));
    return true;
}

std::vector<store_finding> redlock_findings(const std::vector<examined_node>& nodes) {
    std::vector<store_finding> found;
    for (const auto& each : nodes)
        found.push_back(judge_node(each, nodes.size()));
    const auto reached = static_cast<std::size_t>(
        std::count_if(nodes.begin(), nodes.end(), [](const auto& each) { return each.reached; })
    );
    if (reached <= nodes.size() / 2)
        found.push_back(finding(
            verdict::broken, "majority", "Too few nodes can be reached: nothing can be granted."
        ));
    found.push_back(judge_durability(nodes));
    found.push_back(judge_tokens(nodes));
    found.push_back(judge_votes(nodes));
    found.push_back(judge_sessions(nodes));
    return found;
}

asio::awaitable<std::vector<store_finding>> redlock_examination::run() {
    const auto kept = shared_from_this();
    found_.assign(nodes_->size(), examined_node());
    const auto round = nodes_->make_round();
    for (std::size_t node = 0; node < nodes_->size(); ++node) {
        round->sent();
        asio::co_spawn(nodes_->strand(), ask(kept, round, node), asio::detached);
    }
    auto waiting = round->wait([] { return false; });
    co_await std::move(waiting);
    co_return redlock_findings(found_);
}

asio::awaitable<void> redlock_examination::ask(
    [[maybe_unused]] std::shared_ptr<redlock_examination> self,
    node_group::round_ptr round,
    std::size_t node
) {
    node_link& link = nodes_->node(node);
    examined_node& found = found_[node];
    found.name = link.name();
    auto asking = link.ask_facts();
    auto facts = co_await std::move(asking);
    if (facts) {
        found.facts = std::move(*facts);
        auto reading = link.send({"HMGET", link.keys().of("id"), "knows", "until", "nodes"});
        const auto record = co_await std::move(reading);
        auto timing = link.send({"TIME"});
        const auto time = co_await std::move(timing);
        auto counting = link.send({"ZCARD", link.keys().of("d")});
        const auto sessions = co_await std::move(counting);
        found.reached = record && time && sessions && found.read_record(*record, *time);
        if (sessions)
            found.sessions = static_cast<std::uint64_t>(sessions->number);
    }
    if (!found.reached)
        found.failure = link.explain();
    round->answered();
}

}  // namespace mortise::store_detail
