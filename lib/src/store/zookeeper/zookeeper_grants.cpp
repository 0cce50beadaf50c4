// SPDX-License-Identifier: BSL-1.0
// What the session grants, to its own requests and to those of others.
#include "store/zookeeper/zookeeper_locks.hpp"
#include "zookeeper/zk_error.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <sstream>
#include <utility>

namespace mortise::store_detail {

using zookeeper_detail::zk_code;

namespace {

/// The data of a node that holds a lock with others: the base of the readers' token, and the slot.
std::string grant_text(std::uint64_t base, std::uint32_t slot) {
    return std::to_string(base) + ' ' + std::to_string(slot);
}

}  // namespace

void zookeeper_locks::read_grant(const own_lock& lock, own_request& mine, const std::string& text) {
    std::uint64_t base = mine.created;
    std::uint32_t slot = 0;
    if (mine.mode != lock_mode::exclusive()) {
        std::istringstream words(text);
        std::uint64_t phase = 0;
        if (!(words >> phase >> slot))
            return;
        base = phase != 0 ? phase : base;
    }
    grant_to(*find_lock(lock.name), mine, base, slot);
    tell(store_event::kind::granted, mine, mine.contended);
}

// Others wait behind the node, as far as is known: who stood before it is gone, or holds, too, and
// readers behind a reader are granted together with it.
bool zookeeper_locks::others_behind(const own_lock& lock, const own_request& mine) const {
    const auto shared = lock_mode::shared();
    const auto& nodes = lock.seen.nodes();
    bool together = mine.mode == shared;
    for (auto at = lock.seen.place_of(mine.node) + 1; at < nodes.size(); ++at) {
        together = together && nodes[at].mode == shared;
        if (!together && nodes[at].session != link_->own_id() && !lock.seen.holds(at))
            return true;
    }
    return false;
}

void zookeeper_locks::grant_to(
    own_lock& lock, own_request& mine, std::uint64_t base, std::uint32_t slot
) {
    mine.granted = true;
    mine.alone = false;
    mine.base = base;
    mine.slot = slot;
    mine.since = link_->now();
    mine.contended = others_behind(lock, mine);
    if (!mine.asking)
        count_change();
    read_queue_later(lock.name, mine);
}

void zookeeper_locks::tell(store_event::kind type, const own_request& mine, bool contended) {
    if (mine.asking)
        return;
    store_event event;
    event.type = type;
    event.id = mine.id;
    event.token = token_of(mine);
    event.slot = mine.slot;
    event.contended = contended;
    link_->tell_owner(event);
}

// Grants to all that are due, and deletes the node `without`, if it is named.
// @return whether that one was still there.
asio::awaitable<result<bool>> zookeeper_locks::advance(std::string name, std::string without) {
    constexpr int attempts_max = 1'000;
    for (int attempt = 0; attempt < attempts_max; ++attempt) {
        auto seeing = read(name, false, true);
        auto state = co_await std::move(seeing);
        if (!state)
            co_return state.error();
        auto now = std::move(*state);
        if (!without.empty()) {
            const auto place = now.place_of(without);
            if (place == now.nodes().size())
                co_return false;
            now.remove(place);
        }
        auto granting = grant_due(name, std::move(now), without);
        const auto done = co_await std::move(granting);
        if (!done || *done)
            co_return done;
    }
    co_return error_code(errc::database_busy);
}

// @return false if somebody else has changed the lock meanwhile.
asio::awaitable<result<bool>>
zookeeper_locks::grant_due(std::string name, lock_state state, std::string without) {
    constexpr std::size_t grants_max = 64;  // in one change; the others get theirs afterwards
    auto due = state.due();
    const bool more = due.size() > grants_max;
    due.resize(std::min(due.size(), grants_max));
    const auto path = link_->lock_path(name);
    std::vector<zk_step> steps;
    const auto add = [&](zk_step::kind type, std::string node, std::string data) {
        zk_step step;
        step.type = type;
        step.path = std::move(node);
        step.data = std::move(data);
        steps.push_back(std::move(step));
    };
    for (const auto& each : due) {
        std::uint64_t base = 0;
        if (each.begins_phase) {
            auto asking = base_of(name, each.node);
            const auto found = co_await std::move(asking);
            if (!found)
                co_return found.error();
            if (*found == 0)
                co_return false;  // it is gone
            base = *found;
        }
        state.grant(each, base);
        const bool reads = each.node.mode == lock_mode::shared();
        if (each.node.session != link_->own_id() || each.node.mode.capacity() != 0)
            add(zk_step::kind::set,
                path + '/' + each.node.name,
                grant_text(reads ? state.phase() : 0, each.slot));
    }
    if (!due.empty()) {
        add(zk_step::kind::set, path, state.text());
        steps.back().version = state.version();
    }
    if (!without.empty())
        add(zk_step::kind::erase, path + '/' + without, "");
    if (steps.empty())
        co_return true;
    const auto sent = link_->change(std::move(steps));
    auto taking = sent->take();
    const auto answer = co_await std::move(taking);
    if (answer.failed == zk_code::bad_version || answer.failed == zk_code::no_node)
        co_return false;
    if (answer.failed)
        co_return link_->meaning_of(answer.failed);
    if (auto* const lock = find_lock(name)) {
        if (state.reading() >= lock->seen.reading())
            lock->seen = state;
        for (const auto& each : due) {
            if (each.node.session != link_->own_id())
                continue;
            auto* const mine = find(name, each.node.request);
            // Whoever finds its node sees by the next reading that it is granted.
            if (!mine || mine->granted || mine->leaving || mine->created == 0)
                continue;
            const bool reads = each.node.mode == lock_mode::shared();
            grant_to(*lock, *mine, reads ? state.phase() : mine->created, each.slot);
            tell(store_event::kind::granted, *mine, mine->contended);
        }
        if (!more)
            refresh(name);
    }
    // Also for those of whom nobody hears here any more: only this session knows that they are due.
    if (more)
        asio::co_spawn(link_->executor(), run_advance(self(), name), asio::detached);
    co_return true;
}

// The number of the transaction that made a node; zero: it is gone.
asio::awaitable<result<std::uint64_t>> zookeeper_locks::base_of(std::string name, queue_node node) {
    if (node.session == link_->own_id()) {
        const auto* const mine = find(name, node.request);
        if (mine && mine->created != 0)
            co_return mine->created;
    }
    const auto asked = link_->get(link_->lock_path(name) + '/' + node.name);
    auto taking = asked->take();
    const auto answer = co_await std::move(taking);
    if (answer.failed == zk_code::no_node)
        co_return std::uint64_t(0);
    if (answer.failed)
        co_return link_->meaning_of(answer.failed);
    co_return answer.stat.created;
}

}  // namespace mortise::store_detail
