// SPDX-License-Identifier: BSL-1.0
// What the session learns of the nodes of locks, by reading and watching them.
#include "store/zookeeper/node_names.hpp"
#include "store/zookeeper/single_node_locks.hpp"
#include "zookeeper/zk_error.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <utility>

namespace mortise::store_detail {

using zookeeper_detail::zk_code;

void single_node_locks::tell(store_event::kind type, const own_request& mine, bool contended) {
    if (mine.asking)
        return;
    store_event event;
    event.type = type;
    event.id = mine.id;
    event.token = token_of(mine);
    event.contended = contended;
    link_->tell_owner(event);
}

// Who has got a lock watches its node only if the lock is kept for longer than that.
void single_node_locks::note_hold(own_lock& lock, own_request& mine, std::uint64_t created) {
    constexpr std::chrono::milliseconds pause(2);
    if (mine.at == stage::held)
        return;
    mine.at = stage::held;
    mine.created = created;
    mine.contended = false;
    mine.since = link_->now();
    if (!mine.asking)
        count_change();
    tell(store_event::kind::granted, mine, false);
    if (mine.asking)  // else it was read together with the creation
        refresh_later(lock, pause);
}

void single_node_locks::note_wanted(own_request& mine) {
    if (std::exchange(mine.contended, true))
        return;
    count_change();
    tell(store_event::kind::contended, mine, true);
}

// Tells the holder, once: a node that was written before has another version.
void single_node_locks::ask_for(const own_lock& lock, const zk_answer& node) {
    auto note = parse_holder_note(node.data);
    if (!note || note->wanted)
        return;
    note->wanted = true;
    zk_change change;
    change.push_back(writing_of(lock.path, note->text(), 0));
    link_->change(std::move(change));
}

// Draws the conclusions from what was read.
void single_node_locks::judge(own_lock& lock, const zk_answer& node) {
    lock.free = node.failed == zk_code::no_node;
    if (lock.line.empty())
        return;
    judge_first(lock, node);
    if (lock.line.empty())
        return;
    if (lock.line.front().at == stage::waiting && !lock.free)
        ask_for(lock, node);
}

void single_node_locks::judge_first(own_lock& lock, const zk_answer& node) {
    auto& mine = lock.line.front();
    const bool own = !lock.free && node.stat.owner == link_->zookeeper_session();
    if (mine.at == stage::unknown) {
        mine.at = stage::waiting;
        if (own)
            note_hold(lock, mine, node.stat.created);
    }
    if (mine.at != stage::held)
        return;
    if (!own || node.stat.created != mine.created) {
        count_change();
        lock.line.pop_front();
        link_->tell_look_again();
        return;
    }
    // A note that was meant for the holder before may name that one.
    const auto note = parse_holder_note(node.data);
    // Whatever the note says: nobody but those who want the lock, and breaks, have a node written.
    const bool written = node.stat.version != 0;
    if (written)
        note_wanted(mine);
    if (note && note->session != link_->own_id()) {
        zk_change change;
        const holder_note right{link_->own_id(), written};
        change.push_back(writing_of(lock.path, right.text(), node.stat.version));
        link_->change(std::move(change));
    }
}

// Reads the node, and watches it if it is there.
asio::awaitable<error_code> single_node_locks::look_at(std::string name) {
    const auto session = link_->own_id();
    const auto asked = link_->get(link_->lock_path(name), true);
    auto taking = asked->take();
    const auto node = co_await std::move(taking);
    if (session != link_->own_id())
        co_return error_code(errc::outcome_unknown);
    if (node.failed && node.failed != zk_code::no_node)
        co_return link_->meaning_of(node.failed);
    if (auto* const lock = find_lock(name))
        judge(*lock, node);
    co_return error_code();
}

void single_node_locks::see(const zk_event& event) {
    const auto& folder = link_->locks_path();
    if (!event.path.starts_with(folder) || event.path.size() <= folder.size())
        return;
    const auto name = lock_of_node(std::string_view(event.path).substr(folder.size() + 1));
    auto* const lock = name ? find_lock(*name) : nullptr;
    if (!lock)
        return;
    lock->free = event.type == zk_event::kind::deleted;
    refresh(*name);
}

// A refresh may end what it finds unused.
void single_node_locks::reconnected() {
    std::vector<std::string> names;
    for (const auto& [name, lock] : locks_)
        names.push_back(name);
    for (const auto& name : names)
        refresh(name);
}

void single_node_locks::refresh_later(own_lock& lock, clock::duration pause) {
    if (pause <= clock::duration::zero())
        return refresh(lock.name);
    link_->set_alarm(lock.later, pause, [weak = std::weak_ptr(self()), name = lock.name] {
        if (const auto kept = weak.lock())
            kept->refresh(name);
    });
}

// Looks at the node, and tries to make it if it is not there and somebody waits.
void single_node_locks::refresh(const std::string& name) {
    auto* const lock = find_lock(name);
    if (!lock)
        return;
    lock->refresh_again = true;
    if (std::exchange(lock->refreshing, true))
        return;
    asio::co_spawn(link_->executor(), run_refresh(self(), name), asio::detached);
}

asio::awaitable<void> single_node_locks::run_refresh(
    [[maybe_unused]] std::shared_ptr<single_node_locks> owner, std::string name
) {
    for (bool again = true; again;) {
        auto asking = turn(name);
        const auto mine = co_await std::move(asking);
        auto* lock = find_lock(name);
        if (!lock)
            co_return;
        lock->refresh_again = false;
        auto looking = refresh_once(name);
        const bool changed = co_await std::move(looking);
        lock = find_lock(name);
        if (!lock)
            co_return;
        again = lock->refresh_again || changed;
        lock->refreshing = again;
    }
    forget_if_unused(name);
}

// @return whether it has to be done again at once.
asio::awaitable<bool> single_node_locks::refresh_once(std::string name) {
    auto* lock = find_lock(name);
    if (lock->line.empty() || !link_->usable())
        co_return false;
    auto& first = lock->line.front();
    const auto id = first.id;
    const auto session = link_->own_id();
    const bool may_try = first.at == stage::waiting && lock->free;
    if (may_try && lock->not_before > link_->now()) {
        refresh_later(*lock, lock->not_before - link_->now());
        co_return false;
    }
    zk_reply_ptr creation;
    if (may_try)
        creation = send_creation(*lock, first);
    const auto asked = link_->get(lock->path, true);
    error_code failed;
    if (creation) {
        auto making = make_node(name, id, creation);
        failed = co_await std::move(making);
    }
    auto taking = asked->take();
    const auto node = co_await std::move(taking);
    lock = find_lock(name);
    // A connection that comes back is a reason to look again; a refusal is none.
    constexpr std::chrono::milliseconds pause(1'000);
    const bool read = !node.failed || node.failed == zk_code::no_node;
    if (lock && (failed || !read) && link_->usable())
        refresh_later(*lock, pause);
    if (!lock || session != link_->own_id() || (node.failed && node.failed != zk_code::no_node))
        co_return false;
    judge(*lock, node);
    if (failed)
        co_return false;
    co_return !lock->line.empty() && lock->line.front().at == stage::waiting && lock->free;
}

asio::awaitable<result<session_view>> single_node_locks::look() {
    const auto kept = self();
    if (!link_->usable())
        co_return link_->meaning_of(zk_code::invalid_state);
    struct reading {
        std::string name;
        std::uint64_t newest_write = 0;
        zk_reply_ptr node;
    };
    if (!breaks_) {
        const auto counting = link_->get(link_->breaks_path());
        auto taking = counting->take();
        const auto counted = co_await std::move(taking);
        if (counted.failed)
            co_return link_->meaning_of(counted.failed);
        if (!breaks_ && locks_.empty())
            breaks_ = counted.stat.version;
    }
    std::vector<reading> readings;
    for (auto& [name, lock] : locks_) {
        if (!lock.line.empty())
            readings.push_back({name, lock.newest_write, link_->get(lock.path, true)});
    }
    for (const auto& each : readings) {
        auto taking = each.node->take();
        const auto node = co_await std::move(taking);
        if (node.failed && node.failed != zk_code::no_node)
            co_return link_->meaning_of(node.failed);
        auto* const lock = find_lock(each.name);
        if (!lock)
            continue;
        if (lock->newest_write == each.newest_write) {
            judge(*lock, node);
            if (lock->free)
                refresh(each.name);
            continue;
        }
        // The session has changed the lock meanwhile.
        auto asking = turn(each.name);
        const auto mine = co_await std::move(asking);
        auto looking = look_at(each.name);
        if (const error_code failed = co_await std::move(looking))
            co_return failed;
        refresh(each.name);
    }
    session_view view;
    view.changes = changes();
    for (auto& [name, lock] : locks_) {
        for (const auto& mine : lock.line) {
            if (mine.at == stage::unknown && mine.asking)
                continue;  // Its call is under way.
            session_entry entry;
            entry.id = mine.id;
            entry.name = name;
            entry.granted = mine.at == stage::held || mine.at == stage::leaving;
            if (entry.granted) {
                entry.token = token_of(mine);
                entry.age = link_->now() - mine.since;
                entry.contended = mine.contended;
            }
            view.entries.push_back(std::move(entry));
        }
    }
    co_return view;
}

std::vector<zk_change> single_node_locks::clear() {
    std::vector<zk_change> all;
    for (const auto& [name, lock] : locks_) {
        if (lock.line.empty())
            continue;
        const auto& first = lock.line.front();
        if (first.at == stage::held && first.breaks)
            all.push_back(release_of(lock, first, zk_step::any_version));
    }
    locks_.clear();
    breaks_.reset();
    end_calls();
    return all;
}

}  // namespace mortise::store_detail
