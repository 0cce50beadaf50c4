// SPDX-License-Identifier: BSL-1.0
// What the session learns of its nodes by watches.
#include "store/zookeeper/zookeeper_locks.hpp"
#include "zookeeper/zk_error.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <utility>

namespace mortise::store_detail {

using zookeeper_detail::zk_code;

void zookeeper_locks::see(const zk_event& event) {
    const auto& folder = link_->locks_path();
    if (!event.path.starts_with(folder) || event.path.size() <= folder.size())
        return;
    const auto rest = std::string_view(event.path).substr(folder.size() + 1);
    const auto slash = rest.find('/');
    const auto name = lock_of_node(rest.substr(0, slash));
    const bool of_parent = slash == std::string_view::npos;
    if (name && of_parent && event.type != zk_event::kind::children)
        lone_.doubt(*name);
    auto* const lock = name ? find_lock(*name) : nullptr;
    if (!lock)
        return;
    if (of_parent && event.type == zk_event::kind::changed)
        return;  // Grants are told by their nodes.
    if (of_parent) {
        lock->watched = false;
        for (auto& [id, mine] : lock->requests)
            mine.alone = false;
        if (wants_list(*lock))
            refresh(*name);
        return;
    }
    const auto node = std::string(rest.substr(slash + 1));
    if (event.type == zk_event::kind::changed)
        hear_of_change(*lock, node);
    else if (ends_a_wait(*lock, node))
        refresh(*name);
}

// Exclusive nodes are written by their holders, at the end; others by who grants to them.
void zookeeper_locks::hear_of_change(own_lock& lock, const std::string& node) {
    bool read = false;
    for (auto& [id, mine] : lock.requests) {
        if (mine.granted || mine.leaving)
            continue;
        if (mine.before == node && mine.takes_over) {
            grant_to(lock, mine, mine.created, 0);
            tell(store_event::kind::granted, mine, mine.contended);
        } else if (mine.before == node) {
            // Whoever stands behind a node that got a permit is the first that waits.
            mine.before.clear();
            read = true;
        } else if (mine.node == node && mine.mode != lock_mode::exclusive()) {
            watch_own(lock.name, mine);
        }
    }
    if (read)
        refresh(lock.name);
}

// Whether the end of a node may change anything.
bool zookeeper_locks::ends_a_wait(const own_lock& lock, const std::string& node) {
    if (wants_text(lock) || !lock.seen.all_exclusive())
        return true;
    return std::any_of(lock.requests.begin(), lock.requests.end(), [&](const auto& each) {
        const own_request& mine = each.second;
        return !mine.leaving && (mine.node == node || (!mine.granted && mine.before == node));
    });
}

// An exclusive node before it tells by a change that the lock is handed over. It has no children: a
// watch on them tells of the end of another one only, and not of its grant, which matters to those
// who wait for permits only.
void zookeeper_locks::watch_before(const std::string& name, own_request& mine) {
    const auto* const lock = find_lock(name);
    const auto& before = lock->seen.nodes()[lock->seen.place_of(mine.node) - 1];
    const bool plain = mine.mode == lock_mode::exclusive();
    mine.before = before.name;
    mine.takes_over = plain && before.mode == mine.mode;
    const auto path = path_of(*lock, before.name);
    const bool data = mine.takes_over || mine.mode.capacity() != 0;
    auto asked = data ? link_->get(path, true) : link_->list(path, true);
    asio::co_spawn(
        link_->executor(), hear_of_before(self(), name, std::move(asked)), asio::detached
    );
}

asio::awaitable<void> zookeeper_locks::hear_of_before(
    [[maybe_unused]] std::shared_ptr<zookeeper_locks> owner, std::string name, zk_reply_ptr before
) {
    auto taking = before->take();
    const auto answer = co_await std::move(taking);
    if (answer.failed == zk_code::no_node || !answer.data.empty())
        refresh(name);
}

void zookeeper_locks::watch_own(const std::string& name, own_request& mine) {
    mine.watched = true;
    mine.will_watch = false;
    auto asked = link_->get(path_of(*find_lock(name), mine.node), true);
    asio::co_spawn(
        link_->executor(), hear_of_own(self(), name, mine.id, std::move(asked)), asio::detached
    );
}

asio::awaitable<void> zookeeper_locks::hear_of_own(
    [[maybe_unused]] std::shared_ptr<zookeeper_locks> owner,
    std::string name,
    request_id id,
    zk_reply_ptr own
) {
    auto taking = own->take();
    const auto answer = co_await std::move(taking);
    auto* const mine = find(name, id);
    if (!mine || mine->leaving)
        co_return;
    if (!answer.failed && !answer.data.empty() && !mine->granted)
        read_grant(*find_lock(name), *mine, answer.data);
    if (answer.failed == zk_code::no_node)
        refresh(name);
}

template <class Then>
void zookeeper_locks::do_later(
    const std::string& name, own_request& mine, clock::duration pause, Then then
) {
    link_->set_alarm(mine.later, pause, [weak = std::weak_ptr(self()), name, id = mine.id, then] {
        const auto kept = weak.lock();
        auto* const there = kept ? kept->find(name, id) : nullptr;
        if (there && !there->leaving)
            then(*kept, name, *there);
    });
}

// For an exclusive lock this tells only of a node that is deleted by force. Most requests take a
// shorter time than that may take to be heard of, and need none.
void zookeeper_locks::watch_own_later(const std::string& name, own_request& mine) {
    constexpr std::chrono::milliseconds pause(20);
    mine.will_watch = true;
    do_later(name, mine, pause, [](auto& self, const auto& of, auto& there) {
        self.watch_own(of, there);
    });
}

// Who has got a lock asks who is behind only if it is kept for longer than that. Who knows of
// somebody already needs a watch on its own node for that.
void zookeeper_locks::read_queue_later(const std::string& name, own_request& mine) {
    constexpr std::chrono::milliseconds pause(2);
    mine.will_watch = false;
    do_later(name, mine, pause, [](auto& self, const auto& of, auto& there) {
        const auto* const lock = self.find_lock(of);
        if (!lock->watched && wants_list(*lock))
            self.refresh(of);
        else if (there.contended && !there.watched)
            self.watch_own_later(of, there);
    });
}

// The client has set its watches again, but not those whose setting was under way.
void zookeeper_locks::reconnected() {
    lone_.doubt_all();
    for (auto& [name, lock] : locks_) {
        lock.watched = false;
        for (auto& [id, mine] : lock.requests)
            mine.forget_watches();
        refresh(name);
    }
}

std::vector<zk_change> zookeeper_locks::clear() {
    std::vector<zk_change> all;
    for (const auto& [name, lock] : locks_) {
        for (const auto& [id, mine] : lock.requests) {
            if (!mine.node.empty())
                all.push_back({erasure_of(path_of(lock, mine.node))});
        }
    }
    locks_.clear();
    lone_.doubt_all();
    end_calls();
    return all;
}

}  // namespace mortise::store_detail
