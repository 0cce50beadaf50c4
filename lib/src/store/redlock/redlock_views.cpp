// SPDX-License-Identifier: BSL-1.0
#include "store/redlock/redlock_views.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

namespace mortise::store_detail {
namespace {

// More waiters of one lock are not counted.
constexpr std::size_t waiters_counted_max = 1'024;

/// A request as several nodes see it.
struct merged_party {
    std::vector<const party_at_node*> at;
    std::map<std::uint64_t, std::size_t> votes;  ///< By their guess.

    /// The guess with most votes, and how many.
    std::pair<std::uint64_t, std::size_t> best() const {
        std::pair<std::uint64_t, std::size_t> found;
        for (const auto& [guess, count] : votes) {
            if (count > found.second)
                found = {guess, count};
        }
        return found;
    }

    // How long a majority of nodes keeps it.
    party_view view(std::size_t majority) const {
        party_view all = at.front()->view;
        std::vector<clock::duration> left;
        for (const auto* const each : at) {
            left.push_back(each->view.left);
            all.age = std::max(all.age, each->view.age);
        }
        std::sort(left.begin(), left.end(), std::greater<>());
        all.left = left[std::min(left.size(), majority) - 1];
        return all;
    }
};

}  // namespace

lock_view merge_views(
    std::string name,
    const std::vector<const lock_at_node*>& seen,
    std::size_t silent,
    std::size_t majority,
    const token_domain& tokens
) {
    std::map<std::pair<std::string, request_id>, merged_party> all;
    for (const auto* const each : seen) {
        for (const party_at_node& party : each->parties) {
            auto& merged = all[{party.owner, party.request}];
            merged.at.push_back(&party);
            if (party.base != 0)
                ++merged.votes[party.base];
        }
    }
    lock_view lock;
    lock.name = std::move(name);
    const merged_party* holder = nullptr;  // At most one can have a majority.
    for (const auto& [who, party] : all) {
        const auto votes = party.best().second;
        if (votes != 0 && votes + silent >= majority &&
            (holder == nullptr || votes > holder->best().second))
            holder = &party;
    }
    if (holder != nullptr) {
        auto view = holder->view(majority);
        view.token = {holder->best().first << fencing_token::sequence_bits, tokens};
        lock.holders.push_back(std::move(view));
    }
    std::vector<std::pair<std::uint64_t, party_view>> waiting;
    for (const auto& [who, party] : all) {
        if (&party != holder && party.at.size() + silent >= majority)
            waiting.emplace_back(party.at.front()->since, party.view(majority));
    }
    std::stable_sort(waiting.begin(), waiting.end(), [](const auto& a, const auto& b) {
        return a.first < b.first;
    });
    lock.waiter_count = waiting.size();
    for (auto& each : waiting)
        lock.waiters.push_back(std::move(each.second));
    return lock;
}

asio::awaitable<result<redlock_views::replies_ptr>> redlock_views::ask_all(node_call call) {
    const auto kept = shared_from_this();
    const auto all = std::make_shared<replies>(nodes_->size());
    const auto round = nodes_->make_round();
    for (std::size_t node = 0; node < nodes_->size(); ++node) {
        round->sent();
        asio::co_spawn(
            nodes_->strand(), ask_one(kept, round, node, call(node), all), asio::detached
        );
    }
    const auto count = [all] {
        return static_cast<std::size_t>(
            std::count_if(all->begin(), all->end(), [](const auto& each) { return !!each; })
        );
    };
    const auto majority = nodes_->majority();
    auto waiting = round->wait([count, majority] { return count() >= majority; });
    co_await std::move(waiting);
    if (count() < majority)
        co_return error_code(errc::store_unavailable);
    co_return all;
}

asio::awaitable<void> redlock_views::ask_one(
    [[maybe_unused]] std::shared_ptr<redlock_views> self,
    node_group::round_ptr round,
    std::size_t node,
    script_call wanted,
    replies_ptr into
) {
    auto asking = nodes_->node(node).ask(std::move(wanted));
    auto reply = co_await std::move(asking);
    if (reply && reply->type != redis_value::kind::error)
        (*into)[node] = std::move(*reply);
    round->answered();
}

// The names of all locks that a session at any node has or waits for: a majority answers.
asio::awaitable<result<std::vector<lock_view>>>
redlock_views::list(std::string after, std::size_t limit, std::size_t queue_max) {
    const auto kept = shared_from_this();
    const auto names = std::make_shared<std::set<std::string>>();
    const auto answered = std::make_shared<std::size_t>(0);
    const auto round = nodes_->make_round();
    for (std::size_t node = 0; node < nodes_->size(); ++node) {
        round->sent();
        asio::co_spawn(
            nodes_->strand(), names_at(kept, round, node, names, answered), asio::detached
        );
    }
    const auto majority = nodes_->majority();
    auto waiting = round->wait([answered, majority] { return *answered >= majority; });
    co_await std::move(waiting);
    if (*answered < majority)
        co_return error_code(errc::store_unavailable);
    constexpr std::size_t at_once = 128;
    std::vector<lock_view> found;
    const std::vector<std::string> all(names->upper_bound(after), names->end());
    for (std::size_t from = 0; from < all.size() && found.size() < limit; from += at_once) {
        const auto end = std::min(from + at_once, all.size());
        std::vector<std::string> some;
        for (std::size_t at = from; at < end; ++at)
            some.push_back(all[at]);
        auto viewing = views(std::move(some), queue_max);
        auto seen = co_await std::move(viewing);
        if (!seen)
            co_return seen.error();
        for (auto& lock : *seen) {
            if (found.size() < limit)
                found.push_back(std::move(lock));
        }
    }
    co_return found;
}

asio::awaitable<void> redlock_views::names_at(
    [[maybe_unused]] std::shared_ptr<redlock_views> self,
    node_group::round_ptr round,
    std::size_t node,
    names_ptr into,
    std::shared_ptr<std::size_t> answered
) {
    auto reading = read_names(node, into);
    const bool read = co_await std::move(reading);
    *answered += read;
    round->answered();
}

asio::awaitable<bool> redlock_views::read_names(std::size_t node, names_ptr into) {
    node_link& link = nodes_->node(node);
    auto asking = link.send({"ZRANGE", link.keys().of("d"), "0", "-1"});
    const auto sessions = co_await std::move(asking);
    if (!sessions || sessions->type == redis_value::kind::error)
        co_return false;
    for (const auto& session : sessions->items) {
        std::string cursor = "0";
        do {
            redis_command scan{"HSCAN", link.keys().index(session.text), cursor, "COUNT", "512"};
            auto scanning = link.send(std::move(scan));
            const auto page = co_await std::move(scanning);
            if (!page || page->items.size() != 2)
                co_return false;
            cursor = page->items[0].text;
            const auto& pairs = page->items[1].items;
            for (std::size_t at = 1; at < pairs.size(); at += 2)
                into->insert(pairs[at].text);
        } while (cursor != "0");
    }
    co_return true;
}

asio::awaitable<result<std::vector<lock_view>>>
redlock_views::views(std::vector<std::string> names, std::size_t queue_max) {
    const auto kept = shared_from_this();
    node_call call = [this, &names](std::size_t node) {
        auto keys = nodes_->node(node).keys().with_facts();
        for (const auto& each : names)
            nodes_->node(node).keys().add_lock(keys, each);
        std::vector<std::string> arguments;
        arguments.push_back(std::to_string(waiters_counted_max));
        return script_call(redis_script::redlock_view, std::move(keys), std::move(arguments));
    };
    auto asking = ask_all(std::move(call));
    const auto all = co_await std::move(asking);
    if (!all)
        co_return all.error();
    std::vector<std::vector<lock_at_node>> by_node;
    for (const auto& reply : **all) {
        if (!reply)
            continue;
        auto locks = parse_locks_at_node(*reply, names.size());
        if (!locks)
            co_return locks.error();
        by_node.push_back(std::move(*locks));
    }
    std::vector<lock_view> merged;
    for (std::size_t at = 0; at < names.size(); ++at) {
        std::vector<const lock_at_node*> seen;
        for (const auto& locks : by_node)
            seen.push_back(&locks[at]);
        const auto silent = nodes_->size() - by_node.size();
        auto lock = merge_views(names[at], seen, silent, nodes_->majority(), tokens_);
        if (lock.holders.empty() && lock.waiter_count == 0)
            continue;
        lock.waiters.resize(std::min(lock.waiters.size(), queue_max));
        merged.push_back(std::move(lock));
    }
    co_return merged;
}

asio::awaitable<result<bool>> redlock_views::break_(break_order order) {
    if (order.token.domain != tokens_)
        co_return false;
    const auto kept = shared_from_this();
    node_call call = [this, &order](std::size_t node) {
        auto keys = nodes_->node(node).keys().common();
        nodes_->node(node).keys().add_lock(keys, order.name);
        std::vector<std::string> arguments;
        arguments.push_back(std::to_string(order.token.base()));
        return script_call(redis_script::redlock_break, std::move(keys), std::move(arguments));
    };
    auto asking = ask_all(std::move(call));
    const auto all = co_await std::move(asking);
    if (!all)
        co_return all.error();
    // The lock is free once a majority of nodes has no vote for that grant, whether these had one
    // or not.
    std::size_t broken = 0;
    std::size_t silent = 0;
    for (const auto& reply : **all) {
        broken += reply && reply->number == 1;
        silent += !reply;
    }
    co_return broken != 0 && broken + silent >= nodes_->majority();
}

}  // namespace mortise::store_detail
