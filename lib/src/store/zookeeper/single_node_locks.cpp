// SPDX-License-Identifier: BSL-1.0
// What the session asks for, and how that ends.
#include "store/zookeeper/single_node_locks.hpp"

#include "core/queue_view.hpp"
#include "store/zookeeper/node_names.hpp"
#include "zookeeper/zk_error.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace mortise::store_detail {

using zookeeper_detail::node_kind;
using zookeeper_detail::zk_code;

single_node_locks::own_lock& single_node_locks::lock_of(const std::string& name) {
    auto& lock = locks_[name];
    if (lock.path.empty()) {
        lock.name = name;
        lock.path = link_->lock_path(name);
    }
    return lock;
}

single_node_locks::own_lock* single_node_locks::find_lock(const std::string& name) {
    const auto found = locks_.find(name);
    return found == locks_.end() ? nullptr : &found->second;
}

single_node_locks::own_request* single_node_locks::find(const std::string& name, request_id id) {
    auto* const lock = find_lock(name);
    if (!lock)
        return nullptr;
    const auto found = std::find_if(lock->line.begin(), lock->line.end(), [&](const auto& each) {
        return each.id == id;
    });
    return found == lock->line.end() ? nullptr : &*found;
}

single_node_locks::own_request* single_node_locks::find_held(const grant& held) {
    auto* const mine = find(held.name, held.id);
    return mine && mine->at == stage::held && token_of(*mine) == held.token ? mine : nullptr;
}

void single_node_locks::drop(const std::string& name, request_id id) {
    auto* const lock = find_lock(name);
    if (!lock)
        return;
    const bool first = !lock->line.empty() && lock->line.front().id == id;
    std::erase_if(lock->line, [&](const auto& each) { return each.id == id; });
    if (first && !lock->line.empty())
        refresh(name);
    const auto pause = lock->not_before - link_->now();
    if (lock->line.empty() && pause > clock::duration::zero())
        refresh_later(*lock, pause);  // forgets it then; its alarm may have been for the request
    forget_if_unused(name);
}

// For others that come first it is remembered.
void single_node_locks::forget_if_unused(const std::string& name) {
    const auto* const lock = find_lock(name);
    if (lock && lock->line.empty() && !lock->refreshing && lock->not_before <= link_->now())
        locks_.erase(name);
}

answer single_node_locks::answer_of(const own_lock& lock, const own_request& mine) const {
    answer reply;
    if (mine.at == stage::held || mine.at == stage::leaving) {
        reply.type = answer::kind::granted;
        reply.token = token_of(mine);
        reply.contended = mine.contended;
        return reply;
    }
    reply.type = answer::kind::queued;
    reply.contended = true;
    const auto at = std::find_if(lock.line.begin(), lock.line.end(), [&](const auto& each) {
        return each.id == mine.id;
    });
    // The first of the line has the lock, or somebody else has.
    const bool elsewhere = lock.line.front().at == stage::waiting;
    const auto before = std::distance(lock.line.begin(), at) + (elsewhere ? 1 : 0);
    reply.position = static_cast<std::uint64_t>(before);
    return reply;
}

asio::awaitable<result<answer>> single_node_locks::request(lock_request wish) {
    const auto kept = self();
    const auto before = ends();
    auto asking = turn(wish.name);
    const auto mine = co_await std::move(asking);
    if (before != ends())
        co_return error_code(errc::outcome_unknown);
    auto deciding = ask(wish);
    auto reply = co_await std::move(deciding);
    if (auto* const known = find(wish.name, wish.id))
        known->asking = false;
    co_return reply;
}

asio::awaitable<result<answer>> single_node_locks::ask(const lock_request& wish) {
    const auto& name = wish.name;
    if (!link_->usable())
        co_return link_->meaning_of(zk_code::invalid_state);
    if (!core::sound(wish.mode))
        co_return error_code(errc::bad_mode);
    if (wish.mode != lock_mode::exclusive() || wish.hold_max != std::chrono::milliseconds::max())
        co_return error_code(errc::unsupported);
    auto* known = find(name, wish.id);
    if (known && known->at == stage::unknown) {
        known->asking = true;
        auto looking = look_at(name);
        if (const error_code failed = co_await std::move(looking))
            co_return failed;
        known = find(name, wish.id);
        if (!known)
            co_return error_code(errc::outcome_unknown);
    }
    auto* lock = &lock_of(name);
    if (!known) {
        if (!wish.queue && !lock->line.empty())
            co_return answer{};
        auto room = take_room(lock->path, 0);
        if (!room) {
            forget_if_unused(name);
            co_return error_code(errc::store_full);
        }
        known = &lock->line.emplace_back(wish.id);
        known->room = std::move(room);
    }
    const bool first = lock->line.front().id == wish.id;
    if (first && known->at == stage::waiting && (!wish.queue || lock->not_before <= link_->now())) {
        known->asking = true;
        auto trying = make_node(name, wish.id, send_creation(*lock, *known));
        const error_code failed = co_await std::move(trying);
        lock = find_lock(name);
        known = find(name, wish.id);
        if (!known)
            co_return error_code(errc::outcome_unknown);
        if (failed) {
            if (known->at != stage::unknown)
                drop(name, wish.id);
            co_return failed;
        }
    }
    if (!wish.queue && known->at == stage::waiting) {
        auto looking = look_at(name);  // and tells the holder
        co_await std::move(looking);
        drop(name, wish.id);
        co_return answer{};
    }
    if (first && known->at == stage::waiting)
        refresh_later(*lock, lock->not_before - link_->now());
    co_return answer_of(*lock, *known);
}

zk_reply_ptr single_node_locks::send_creation(own_lock& lock, own_request& mine) {
    mine.at = stage::unknown;
    mine.breaks = breaks_;
    lock.newest_write = ++writes_;
    holder_note note;
    note.session = link_->own_id();
    return link_->create(lock.path, note.text(), node_kind::ephemeral);
}

// Awaits the answer to the creation. The node of somebody else is no failure.
asio::awaitable<error_code>
single_node_locks::make_node(std::string name, request_id id, zk_reply_ptr sent) {
    auto taking = sent->take();
    const auto creation = co_await std::move(taking);
    auto* const lock = find_lock(name);
    auto* const mine = find(name, id);
    if (!mine)
        co_return errc::outcome_unknown;
    if (!creation.failed) {
        note_hold(*lock, *mine, creation.stat.created);
        co_return error_code();
    }
    if (mine->at == stage::unknown && !zookeeper_detail::may_be_done(creation.failed))
        mine->at = stage::waiting;
    if (creation.failed == zk_code::node_exists) {
        lock->free = false;
        co_return error_code();
    }
    co_return link_->meaning_of(creation.failed);
}

asio::awaitable<error_code> single_node_locks::withdraw(std::string name, request_id id) {
    const auto kept = self();
    auto asking = turn(name);
    const auto mine = co_await std::move(asking);
    if (!link_->usable())
        co_return link_->meaning_of(zk_code::invalid_state);
    const auto* known = find(name, id);
    if (known && known->at == stage::unknown) {
        auto looking = look_at(name);
        if (const error_code failed = co_await std::move(looking))
            co_return failed;
        known = find(name, id);
    }
    if (!known)
        co_return error_code();
    if (known->at == stage::waiting) {
        drop(name, id);
        co_return error_code();
    }
    auto leaving = leave(name, id);
    const auto left = co_await std::move(leaving);
    co_return left ? error_code() : left.error();
}

asio::awaitable<result<bool>> single_node_locks::release(grant held) {
    const auto kept = self();
    auto asking = turn(held.name);
    const auto mine = co_await std::move(asking);
    if (!link_->usable())
        co_return link_->meaning_of(zk_code::invalid_state);
    if (!find_held(held))
        co_return false;
    auto leaving = leave(held.name, held.id);
    co_return co_await std::move(leaving);
}

// Those who hear of the end come first: the session itself knows it before them.
// @return whether the node was still there.
asio::awaitable<result<bool>> single_node_locks::leave(std::string name, request_id id) {
    auto* mine = find(name, id);
    mine->at = stage::leaving;
    const auto begun = link_->now();
    auto erasing = erase_node(name, id);
    const auto there = co_await std::move(erasing);
    mine = find(name, id);
    if (!mine)
        co_return there;
    if (!there) {
        // It may be done, and the node may be another's by now.
        mine->at = stage::held;
        mine->breaks.reset();
        co_return there;
    }
    constexpr int trips = 3;  // of what others are told, and of what they send
    constexpr clock::duration pause_max = std::chrono::milliseconds(100);
    auto* const lock = find_lock(name);
    if (mine->contended) {
        const auto pause = std::min(trips * (link_->now() - begun), pause_max);
        lock->not_before = link_->now() + pause;
    }
    drop(name, id);
    co_return there;
}

// A node that was broken may have been made again by somebody else, whose node this must not
// delete. So the deletion takes place only if nothing was broken since the node was surely there.
zk_change single_node_locks::release_of(
    const own_lock& lock, const own_request& mine, std::int32_t version
) const {
    zk_step check;
    check.path = link_->breaks_path();
    check.version = *mine.breaks;
    zk_change change;
    change.push_back(std::move(check));
    change.push_back(erasure_of(lock.path, version));
    return change;
}

// A node that nobody has written is not wanted by anybody else.
asio::awaitable<result<bool>> single_node_locks::erase_node(std::string name, request_id id) {
    bool written = false;
    for (;;) {
        auto* mine = find(name, id);
        if (mine && !mine->breaks) {
            auto seeing = see_whether_there(name, id);
            const auto there = co_await std::move(seeing);
            if (!there || !*there)
                co_return there;
            mine = find(name, id);
        }
        if (!mine)
            co_return error_code(errc::outcome_unknown);
        written = written || mine->contended;
        auto& lock = *find_lock(name);
        lock.newest_write = ++writes_;
        const auto sent =
            link_->change(release_of(lock, *mine, written ? zk_step::any_version : 0));
        auto taking = sent->take();
        const auto answer = co_await std::move(taking);
        mine = find(name, id);
        if (answer.failed == zk_code::bad_version) {
            if (mine && std::exchange(written, true))
                mine->breaks.reset();
            continue;
        }
        if (answer.failed == zk_code::no_node)
            co_return false;
        if (answer.failed)
            co_return link_->meaning_of(answer.failed);
        if (mine)
            mine->contended = written;
        co_return true;
    }
}

asio::awaitable<result<bool>>
single_node_locks::see_whether_there(std::string name, request_id id) {
    const auto breaks = link_->get(link_->breaks_path());
    const auto node = link_->get(link_->lock_path(name));
    auto taking_breaks = breaks->take();
    const auto counted = co_await std::move(taking_breaks);
    auto taking_node = node->take();
    const auto there = co_await std::move(taking_node);
    if (counted.failed)
        co_return link_->meaning_of(counted.failed);
    if (there.failed && there.failed != zk_code::no_node)
        co_return link_->meaning_of(there.failed);
    auto* const mine = find(name, id);
    if (!mine)
        co_return error_code(errc::outcome_unknown);
    mine->breaks = breaks_ = counted.stat.version;
    co_return !there.failed && there.stat.created == mine->created;
}

// The number of a write while the node is there is above the tokens of all that came before, and
// below those of all that come.
asio::awaitable<result<token_range>> single_node_locks::draw(grant held) {
    const auto kept = self();
    auto asking = turn(held.name);
    const auto mine = co_await std::move(asking);
    if (!link_->usable())
        co_return link_->meaning_of(zk_code::invalid_state);
    if (!find_held(held))
        co_return error_code(errc::lease_lost);
    const auto writing = link_->write_session();
    const auto reading = link_->get(link_->lock_path(held.name));
    auto taking = writing->take();
    const auto written = co_await std::move(taking);
    auto seeing = reading->take();
    const auto there = co_await std::move(seeing);
    if (written.failed == zk_code::no_node)
        co_return error_code(errc::session_lost);
    if (written.failed)
        co_return link_->meaning_of(written.failed);
    if (there.failed && there.failed != zk_code::no_node)
        co_return link_->meaning_of(there.failed);
    const auto* const known = find_held(held);
    if (!known || there.failed || there.stat.created != known->created)
        co_return error_code(errc::lease_lost);
    token_range range;
    range.first = {written.stat.modified << fencing_token::sequence_bits, held.token.domain};
    range.count = 1U << fencing_token::sequence_bits;
    co_return range;
}

std::vector<std::pair<std::string, request_id>> single_node_locks::leave_all() {
    std::vector<std::pair<std::string, request_id>> all;
    for (auto& [name, lock] : locks_) {
        // Those who wait go first, so that none of them gets the lock.
        for (auto each = lock.line.rbegin(); each != lock.line.rend(); ++each) {
            each->asking = true;
            all.emplace_back(name, each->id);
        }
    }
    return all;
}

std::shared_ptr<lock_form> make_single_node_form(std::shared_ptr<zookeeper_link> link) {
    return std::make_shared<single_node_locks>(std::move(link));
}

}  // namespace mortise::store_detail
