// SPDX-License-Identifier: BSL-1.0
// What the session asks for, and gives back.
#include "store/zookeeper/zookeeper_locks.hpp"

#include "core/queue_view.hpp"
#include "zookeeper/zk_error.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <utility>

namespace mortise::store_detail {

using zookeeper_detail::node_kind;
using zookeeper_detail::zk_code;

namespace {

std::string last_part(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

}  // namespace

zookeeper_locks::own_lock& zookeeper_locks::lock_of(const std::string& name) {
    auto& lock = locks_[name];
    if (lock.path.empty()) {
        lock.name = name;
        lock.path = link_->lock_path(name);
    }
    return lock;
}

zookeeper_locks::own_lock* zookeeper_locks::find_lock(const std::string& name) {
    const auto found = locks_.find(name);
    return found == locks_.end() ? nullptr : &found->second;
}

zookeeper_locks::own_request* zookeeper_locks::find(const std::string& name, request_id id) {
    auto* const lock = find_lock(name);
    if (!lock)
        return nullptr;
    const auto found = lock->requests.find(id);
    return found == lock->requests.end() ? nullptr : &found->second;
}

void zookeeper_locks::drop(const std::string& name, request_id id) {
    const auto lock = locks_.find(name);
    if (lock == locks_.end())
        return;
    lock->second.requests.erase(id);
    if (lock->second.requests.empty())
        locks_.erase(lock);
}

fencing_token zookeeper_locks::token_of(const own_request& mine) const {
    return {mine.base << fencing_token::sequence_bits, link_->domain().of_slot(mine.slot)};
}

result<answer> zookeeper_locks::answer_of(const std::string& name, request_id id) {
    const auto* const mine = find(name, id);
    const auto* const lock = find_lock(name);
    answer reply;
    if (!mine)
        return error_code(errc::outcome_unknown);  // the session ended meanwhile, or the grant
    reply.contended = lock->seen.others_wait(link_->own_id());
    if (mine->granted) {
        reply.type = answer::kind::granted;
        reply.token = token_of(*mine);
        reply.slot = mine->slot;
        reply.contended = mine->contended;
    } else {
        reply.type = answer::kind::queued;
        reply.position = lock->seen.place_of(mine->node);
    }
    return reply;
}

asio::awaitable<result<answer>> zookeeper_locks::request(lock_request wish) {
    const auto kept = shared_from_this();
    auto asking = turn(wish.name);
    const auto mine = co_await std::move(asking);
    auto deciding = ask(wish);
    auto reply = co_await std::move(deciding);
    if (auto* const known = find(wish.name, wish.id))
        known->asking = false;
    co_return reply;
}

asio::awaitable<result<answer>> zookeeper_locks::ask(const lock_request& wish) {
    const auto& name = wish.name;
    if (!link_->usable())
        co_return link_->meaning_of(zk_code::invalid_state);
    if (auto* const known = find(name, wish.id)) {
        known->asking = true;
        auto asking = ask_again(name, wish.id);
        if (const error_code failed = co_await std::move(asking))
            co_return failed;
        if (find(name, wish.id))
            co_return answer_of(name, wish.id);
        if (!link_->usable())
            co_return error_code(errc::outcome_unknown);
    }
    if (!core::sound(wish.mode))
        co_return error_code(errc::bad_mode);
    if (wish.hold_max != std::chrono::milliseconds::max())
        co_return error_code(errc::unsupported);
    auto& lock = lock_of(name);
    // A session does not pass itself.
    const bool in_vain =
        std::any_of(lock.requests.begin(), lock.requests.end(), [&](const auto& each) {
            const own_request& mine = each.second;
            return !mine.granted || mine.mode == lock_mode::exclusive();
        });
    if (!wish.queue && in_vain && wish.mode.capacity() == 0)
        co_return answer{};
    lock.requests.try_emplace(wish.id, wish.id, wish.mode).first->second.asking = true;
    auto entering = enter(name, wish.id);
    if (const error_code failed = co_await std::move(entering)) {
        // Whether there is a node is known, unless the answer is lost.
        const auto* const mine = find(name, wish.id);
        if (mine && mine->node.empty() && failed != errc::outcome_unknown)
            drop(name, wish.id);
        co_return failed;
    }
    const auto* const mine = find(name, wish.id);
    if (!mine)
        co_return error_code(errc::outcome_unknown);
    if (!mine->granted && !wish.queue) {
        auto leaving = leave(name, wish.id);
        const auto left = co_await std::move(leaving);
        if (!left)
            co_return left.error();
        co_return answer{};
    }
    co_return answer_of(name, wish.id);
}

// Makes the node, and begins to read the queue behind it. The parent is made first if the lock is
// new, or was unused for so long that the servers have deleted it.
asio::awaitable<zk_answer>
zookeeper_locks::make_node(const std::string& name, request_id id, reading& begun) {
    constexpr int attempts_max = 8;
    zk_answer creation;
    for (int attempt = 0; attempt < attempts_max; ++attempt) {
        auto* lock = find_lock(name);
        const auto* const mine = find(name, id);
        if (!mine) {
            creation.failed = zk_code::connection_lost;
            break;
        }
        const auto path = lock->path;
        const auto mode = mine->mode;
        ++lock->creations;
        const auto making = link_->create(
            path + '/' + node_prefix(link_->own_id(), id, mode), "", node_kind::ephemeral_sequential
        );
        begun = start_reading(name, true, mode != lock_mode::exclusive());
        auto taking = making->take();
        creation = co_await std::move(taking);
        if (creation.failed != zk_code::no_node)
            break;
        lock = find_lock(name);
        if (lock)
            --lock->creations;
        const auto parent = link_->create(path, "", node_kind::container);
        auto waiting = parent->take();
        const auto done = co_await std::move(waiting);
        if (done.failed && done.failed != zk_code::node_exists)
            co_return done;
    }
    co_return creation;
}

// Makes the node, and looks where it stands.
asio::awaitable<error_code> zookeeper_locks::enter(const std::string& name, request_id id) {
    reading under_way;
    auto making = make_node(name, id, under_way);
    const auto creation = co_await std::move(making);
    if (creation.failed)
        co_return link_->meaning_of(creation.failed);
    auto finishing = finish_reading(name, under_way);
    const auto state = co_await std::move(finishing);
    auto* const mine = find(name, id);
    if (!mine)
        co_return errc::outcome_unknown;
    mine->node = last_part(creation.path);
    mine->created = creation.stat.created;
    if (!state)
        co_return errc::outcome_unknown;  // it is there, but where?
    auto* const lock = find_lock(name);
    const auto place = state->place_of(mine->node);
    if (place == state->nodes().size()) {
        drop(name, id);
        co_return error_code();  // it was broken already
    }
    const auto capacity = mine->mode.capacity();
    const auto other = capacity != 0 ? state->capacity_before(place) : 0;
    if (other != 0 && other != capacity) {
        auto leaving = leave(name, id);
        const auto left = co_await std::move(leaving);
        if (!left)
            co_return left.error();
        co_return errc::capacity_differs;
    }
    if (mine->mode == lock_mode::exclusive()) {
        if (place == 0)
            grant_to(*lock, *mine, mine->created, 0);
    } else {
        auto granting = grant_due(name, *state, "");
        auto granted = co_await std::move(granting);
        if (granted && !*granted) {
            auto advancing = advance(name, "");
            granted = co_await std::move(advancing);
        }
        if (!granted)
            co_return granted.error();
    }
    judge_all(name);
    co_return error_code();
}

// A request whose answer was lost, or that is repeated.
asio::awaitable<error_code> zookeeper_locks::ask_again(const std::string& name, request_id id) {
    auto finding = find_node(name, id);
    if (const error_code failed = co_await std::move(finding))
        co_return failed;
    judge_all(name);
    co_return error_code();
}

// Finds a node by the session and the request in its name; forgets a request that has none.
asio::awaitable<error_code> zookeeper_locks::find_node(const std::string& name, request_id id) {
    auto seeing = read(name, false, true);
    const auto state = co_await std::move(seeing);
    if (!state)
        co_return state.error();
    auto* mine = find(name, id);
    if (!mine)
        co_return error_code();
    const auto place = state->place_of(link_->own_id(), id);
    if (place == state->nodes().size()) {
        drop(name, id);
        co_return error_code();
    }
    if (!mine->node.empty() && mine->created != 0)
        co_return error_code();
    const auto found = state->nodes()[place].name;
    const auto asked = link_->get(path_of(*find_lock(name), found));
    auto taking = asked->take();
    const auto answer = co_await std::move(taking);
    mine = find(name, id);
    if (!mine)
        co_return error_code();
    if (answer.failed) {
        if (answer.failed != zk_code::no_node)
            co_return link_->meaning_of(answer.failed);
        drop(name, id);
        co_return error_code();
    }
    mine->node = found;
    mine->created = answer.stat.created;
    co_return error_code();
}

asio::awaitable<error_code> zookeeper_locks::withdraw(std::string name, request_id id) {
    const auto kept = shared_from_this();
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
    const auto kept = shared_from_this();
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

// Deletes the node and grants to the next one, in one step.
asio::awaitable<result<bool>> zookeeper_locks::pass_on(const std::string& name, request_id id) {
    constexpr int attempts_max = 100;
    for (int attempt = 0; attempt < attempts_max; ++attempt) {
        const auto* const mine = find(name, id);
        const auto* const lock = find_lock(name);
        if (!mine)
            co_return false;
        const auto node = mine->node;
        const auto place = lock->seen.place_of(node);
        const auto& nodes = lock->seen.nodes();
        const bool has_next = mine->granted && place + 1 < nodes.size();
        const bool plain = mine->mode == lock_mode::exclusive();
        if (mine->granted && (plain ? has_next && nodes[place + 1].mode != mine->mode
                                    : lock->seen.anybody_waits())) {
            auto advancing = advance(name, node);
            co_return co_await std::move(advancing);
        }
        const bool hands_over = plain && has_next;
        zk_reply_ptr sent;
        if (hands_over) {
            zk_step set;
            set.type = zk_step::kind::set;
            set.path = path_of(*lock, nodes[place + 1].name);
            set.data = "granted";
            zk_step erase;
            erase.type = zk_step::kind::erase;
            erase.path = path_of(*lock, node);
            std::vector<zk_step> steps;
            steps.push_back(std::move(set));
            steps.push_back(std::move(erase));
            sent = link_->change(std::move(steps));
        } else {
            sent = link_->erase(path_of(*lock, node));
        }
        auto taking = sent->take();
        const auto answer = co_await std::move(taking);
        if (!answer.failed)
            co_return true;
        if (answer.failed != zk_code::no_node)
            co_return link_->meaning_of(answer.failed);
        if (!hands_over)
            co_return false;
        // The next one has gone, or this one.
        auto seeing = read(name, false, false);
        const auto state = co_await std::move(seeing);
        if (!state)
            co_return state.error();
        if (state->place_of(node) == state->nodes().size())
            co_return false;
    }
    co_return error_code(errc::outcome_unknown);
}

asio::awaitable<result<token_range>> zookeeper_locks::draw(grant held) {
    const auto kept = shared_from_this();
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
    const auto writing = link_->set(path_of(*find_lock(held.name), known->node), "granted");
    const auto started = start_reading(held.name, false, known->mode.capacity() != 0);
    auto taking = writing->take();
    const auto written = co_await std::move(taking);
    if (written.failed == zk_code::no_node)
        co_return error_code(errc::lease_lost);
    if (written.failed)
        co_return link_->meaning_of(written.failed);
    auto finishing = finish_reading(held.name, started);
    const auto state = co_await std::move(finishing);
    if (!state)
        co_return state.error();
    // Whoever waits already has a token below this one.
    if (state->anybody_waits())
        co_return error_code(errc::busy);
    token_range range;
    range.first = {written.stat.modified << fencing_token::sequence_bits, domain};
    range.count = 1U << fencing_token::sequence_bits;
    co_return range;
}

// Requests of which nobody knows whether they have a node.
std::vector<request_id> zookeeper_locks::unknown_in(const std::string& name) {
    std::vector<request_id> all;
    const auto* const lock = find_lock(name);
    if (!lock)
        return all;
    for (const auto& [id, mine] : lock->requests) {
        if (!mine.asking && !mine.leaving && (mine.node.empty() || mine.created == 0))
            all.push_back(id);
    }
    return all;
}

asio::awaitable<result<session_view>> zookeeper_locks::look() {
    const auto kept = shared_from_this();
    if (!link_->usable())
        co_return link_->meaning_of(zk_code::invalid_state);
    std::vector<std::string> names;
    for (const auto& [name, lock] : locks_)
        names.push_back(name);
    std::vector<reading> readings;
    for (const auto& name : names)
        readings.push_back(start_reading(name, true, wants_text(*find_lock(name))));
    for (std::size_t i = 0; i < names.size(); ++i) {
        auto finishing = finish_reading(names[i], readings[i]);
        const auto state = co_await std::move(finishing);
        if (!state)
            co_return state.error();
        for (const auto id : unknown_in(names[i])) {
            auto finding = find_node(names[i], id);
            if (const error_code failed = co_await std::move(finding))
                co_return failed;
        }
        if (judge_all(names[i])) {
            auto advancing = run_advance(kept, names[i]);
            co_await std::move(advancing);
        }
    }
    session_view view;
    view.changes = changes_;
    for (auto& [name, lock] : locks_) {
        for (auto& [id, mine] : lock.requests) {
            if (mine.node.empty())
                continue;  // Its call is under way.
            session_entry entry;
            entry.id = id;
            entry.name = name;
            entry.granted = mine.granted;
            if (mine.granted) {
                entry.token = token_of(mine);
                entry.slot = mine.slot;
                entry.age = link_->now() - mine.since;
                entry.contended = mine.contended;
            }
            view.entries.push_back(std::move(entry));
        }
    }
    co_return view;
}

asio::awaitable<error_code> zookeeper_locks::end() {
    const auto kept = shared_from_this();
    std::vector<std::pair<std::string, request_id>> all;
    for (auto& [name, lock] : locks_) {
        for (auto& [id, mine] : lock.requests) {
            mine.leaving = true;
            all.emplace_back(name, id);
        }
    }
    constexpr std::size_t at_once = 64;
    for (std::size_t from = 0; from < all.size(); from += at_once) {
        std::vector<std::shared_ptr<withdrawal>> under_way;
        for (auto i = from; i < std::min(all.size(), from + at_once); ++i) {
            under_way.push_back(std::make_shared<withdrawal>(link_->executor()));
            asio::co_spawn(
                link_->executor(),
                run_withdrawal(kept, all[i].first, all[i].second, under_way.back()),
                asio::detached
            );
        }
        for (const auto& each : under_way) {
            auto waiting = each->done.async_wait(coro::detail::with_code);
            co_await std::move(waiting);
            if (each->failed)
                co_return each->failed;
        }
    }
    co_return error_code();
}

asio::awaitable<void> zookeeper_locks::run_withdrawal(
    [[maybe_unused]] std::shared_ptr<zookeeper_locks> self,
    std::string name,
    request_id id,
    std::shared_ptr<withdrawal> one
) {
    auto withdrawing = withdraw(std::move(name), id);
    one->failed = co_await std::move(withdrawing);
    one->done.set();
}

}  // namespace mortise::store_detail
