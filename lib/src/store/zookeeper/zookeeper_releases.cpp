// SPDX-License-Identifier: BSL-1.0
// How requests of a session end, and what a holder may give on by itself.
#include "store/zookeeper/zookeeper_locks.hpp"
#include "zookeeper/zk_error.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace mortise::store_detail {

using zookeeper_detail::node_kind;
using zookeeper_detail::zk_code;

asio::awaitable<error_code> zookeeper_locks::withdraw(std::string name, request_id id) {
    const auto kept = self();
    auto asking = turn(name);
    const auto mine = co_await std::move(asking);
    if (!link_->usable())
        co_return link_->meaning_of(zk_code::invalid_state);
    auto* known = find(name, id);
    if (!known || known->node.empty()) {
        if (!known)
            lock_of(name).requests.try_emplace(id, id, lock_mode());
        auto finding = find_node(name, id);
        if (const error_code failed = co_await std::move(finding))
            co_return failed;
    }
    if (!find(name, id))
        co_return error_code();
    auto leaving = leave(name, id);
    const auto left = co_await std::move(leaving);
    co_return left ? error_code() : left.error();
}

asio::awaitable<result<bool>> zookeeper_locks::release(grant held) {
    const auto kept = self();
    auto asking = turn(held.name);
    const auto mine = co_await std::move(asking);
    if (!link_->usable())
        co_return link_->meaning_of(zk_code::invalid_state);
    const auto* const known = find(held.name, held.id);
    if (!known || !known->granted || token_of(*known) != held.token)
        co_return false;
    auto leaving = leave(held.name, held.id);
    co_return co_await std::move(leaving);
}

asio::awaitable<released_and_asked>
zookeeper_locks::release_and_request(grant held, lock_request wish) {
    const auto kept = self();
    const auto before = ends();
    auto asking = turn(held.name);
    auto taken = co_await std::move(asking);
    std::optional<lock_turn> mine(std::move(taken));
    if (before != ends())
        co_return released_and_asked(errc::outcome_unknown);
    if (!goes_in_one_step(held, wish)) {
        mine.reset();
        auto one_by_one = lock_form::release_and_request(std::move(held), std::move(wish));
        co_return co_await std::move(one_by_one);
    }
    auto exchanging = exchange(held, wish);
    auto both = co_await std::move(exchanging);
    if (auto* const known = find(wish.name, wish.id))
        known->asking = false;
    co_return both;
}

// From one exclusive grant to a request for another one, with nobody next who is granted by a
// write.
bool zookeeper_locks::goes_in_one_step(const grant& held, const lock_request& wish) {
    const auto* const known = find(held.name, held.id);
    if (!link_->usable() || !known || !known->granted || token_of(*known) != held.token)
        return false;
    const auto plain = lock_mode::exclusive();
    const auto& nodes = find_lock(held.name)->seen.nodes();
    const auto behind = find_lock(held.name)->seen.place_of(known->node) + 1;
    return known->mode == plain && wish.mode == plain && wish.name == held.name && wish.queue &&
           wish.hold_max == std::chrono::milliseconds::max() && !find(wish.name, wish.id) &&
           (behind >= nodes.size() || nodes[behind].mode == plain);
}

// Deletes the node of a holder, as `pass_on` does, and makes that of its next request, in the same
// room: there is one of the two at a time.
asio::awaitable<released_and_asked>
zookeeper_locks::exchange(const grant& held, const lock_request& wish) {
    const auto& name = wish.name;
    auto* lock = find_lock(name);
    auto& fresh = lock->requests.try_emplace(wish.id, wish.id, wish.mode).first->second;
    fresh.asking = true;
    auto* old = find(name, held.id);
    old->leaving = true;
    const auto path = path_of(*lock, old->node);
    std::vector<zk_step> steps{writing_of(path, "handed over", zk_step::any_version)};
    steps.push_back(erasure_of(path));
    auto& making = steps.emplace_back();
    making.type = zk_step::kind::create;
    making.path = lock->path + '/' + node_prefix(link_->own_id(), wish.id, wish.mode);
    making.node = node_kind::ephemeral_sequential;
    ++lock->creations;
    const auto sent = link_->change(std::move(steps));
    const auto under_way = start_reading(name, false, false);
    auto taking = sent->take();
    auto creation = co_await std::move(taking);
    lock = find_lock(name);
    old = find(name, held.id);
    auto* const next = find(name, wish.id);
    const bool broken = creation.failed == zk_code::no_node;
    if (old && next && (broken || !creation.failed))
        next->room = std::move(old->room);
    if (broken) {
        // Nothing was done.
        if (lock)
            --lock->creations;
        drop(name, held.id);
        auto entering = enter(name, wish.id);
        const error_code entered = co_await std::move(entering);
        auto concluding = conclude(wish, entered);
        auto asked = co_await std::move(concluding);
        co_return released_and_asked(false, std::move(asked));
    }
    if (creation.failed) {
        const error_code why = link_->meaning_of(creation.failed);
        if (old)
            old->leaving = false;
        auto concluding = conclude(wish, why);
        auto asked = co_await std::move(concluding);
        co_return released_and_asked(why, std::move(asked));
    }
    drop(name, held.id);
    creation.stat.created = creation.stat.modified;  // of the same transaction
    auto joining = join(name, wish.id, creation, under_way);
    const error_code joined = co_await std::move(joining);
    auto concluding = conclude(wish, joined);
    auto asked = co_await std::move(concluding);
    co_return released_and_asked(true, std::move(asked));
}

// @return whether the node was still there.
asio::awaitable<result<bool>> zookeeper_locks::leave(std::string name, request_id id) {
    auto* const known = find(name, id);
    if (!known)
        co_return false;
    known->leaving = true;
    auto passing = pass_on(name, id);
    const auto left = co_await std::move(passing);
    if (left) {
        drop(name, id);
    } else if (auto* const still = find(name, id)) {
        still->leaving = false;
    }
    co_return left;
}

// Deletes the node. An exclusive holder writes it in the same step, unless nobody is known to stand
// behind it: for whoever does, the change is the grant, and the deletion alone a reason to look.
// Those behind it that can hold the lock together are granted by this session: the first of them
// may have stopped, and nobody else hears of the deletion. Who waited does not know who came since.
asio::awaitable<result<bool>> zookeeper_locks::pass_on(const std::string& name, request_id id) {
    const auto* const mine = find(name, id);
    const auto* const lock = find_lock(name);
    if (!mine)
        co_return false;
    const auto& nodes = lock->seen.nodes();
    const auto behind = lock->seen.place_of(mine->node) + 1;
    const bool plain = mine->mode == lock_mode::exclusive();
    const bool waited = !mine->granted && !mine->asking && mine->mode != lock_mode::shared();
    const bool before_others =
        behind < nodes.size() && nodes[behind].mode != lock_mode::exclusive();
    const bool shares = mine->granted && !plain;
    if (shares ? lock->seen.anybody_waits() : before_others || waited) {
        auto advancing = advance(name, mine->node);
        co_return co_await std::move(advancing);
    }
    const auto path = path_of(*lock, mine->node);
    const bool lone = plain && mine->granted && mine->alone;
    std::optional<queue_node> node;
    if (lone)
        node = parse_queue_node(mine->node);
    zk_reply_ptr sent;
    if (plain && mine->granted && !lone) {
        std::vector<zk_step> steps(2);
        steps[0].type = zk_step::kind::set;
        steps[0].path = steps[1].path = path;
        steps[0].data = "handed over";
        steps[1].type = zk_step::kind::erase;
        sent = link_->change(std::move(steps));
    } else {
        sent = link_->erase(path);
    }
    auto taking = sent->take();
    const auto answer = co_await std::move(taking);
    if (answer.failed == zk_code::no_node)
        co_return false;
    if (answer.failed)
        co_return link_->meaning_of(answer.failed);
    if (node)
        lone_.note_deletion(name, node->number);
    co_return true;
}

// The number of any write of the session is above the tokens of all that came before it.
asio::awaitable<result<token_range>> zookeeper_locks::draw(grant held) {
    const auto kept = self();
    auto asking = turn(held.name);
    const auto mine = co_await std::move(asking);
    if (!link_->usable())
        co_return link_->meaning_of(zk_code::invalid_state);
    const auto* known = find(held.name, held.id);
    if (!known || !known->granted || token_of(*known) != held.token)
        co_return error_code(errc::lease_lost);
    if (known->mode == lock_mode::shared())
        co_return error_code(errc::unsupported);
    const auto domain = held.token.domain;
    const auto node = known->node;
    const auto writing = link_->write_session();
    const auto started = start_reading(held.name, false, known->mode.capacity() != 0);
    auto taking = writing->take();
    const auto written = co_await std::move(taking);
    if (written.failed == zk_code::no_node)
        co_return error_code(errc::session_lost);
    if (written.failed)
        co_return link_->meaning_of(written.failed);
    auto finishing = finish_reading(held.name, started);
    const auto state = co_await std::move(finishing);
    if (!state)
        co_return state.error();
    if (state->place_of(node) == state->nodes().size())
        co_return error_code(errc::lease_lost);
    // Whoever waits already has a token below this one.
    if (state->anybody_waits())
        co_return error_code(errc::busy);
    token_range range;
    range.first = {written.stat.modified << fencing_token::sequence_bits, domain};
    range.count = 1U << fencing_token::sequence_bits;
    co_return range;
}

std::vector<std::pair<std::string, request_id>> zookeeper_locks::leave_all() {
    std::vector<std::pair<std::string, request_id>> all;
    for (auto& [name, lock] : locks_) {
        for (auto& [id, mine] : lock.requests) {
            mine.leaving = true;
            all.emplace_back(name, id);
        }
    }
    return all;
}

}  // namespace mortise::store_detail
