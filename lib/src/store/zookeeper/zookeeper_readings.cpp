// SPDX-License-Identifier: BSL-1.0
// What the session learns of its locks by reading their queues.
#include "store/zookeeper/zookeeper_locks.hpp"
#include "zookeeper/zk_error.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <utility>

namespace mortise::store_detail {

using zookeeper_detail::zk_code;

zookeeper_locks::reading
zookeeper_locks::start_reading(const std::string& name, bool watch, bool with_text) {
    const auto path = link_->lock_path(name);
    auto* const lock = find_lock(name);
    if (lock && watch)
        lock->watched = true;
    reading started;
    started.number = ++readings_;
    started.creations = lock ? lock->creations : 0;
    started.list = link_->list(path, watch);
    if (with_text)
        started.text = link_->get(path);
    return started;
}

asio::awaitable<result<lock_state>>
zookeeper_locks::read(std::string name, bool watch, bool with_text) {
    return finish_reading(name, start_reading(name, watch, with_text));
}

// The two answers may show two moments: then they are asked for again.
asio::awaitable<result<lock_state>>
zookeeper_locks::finish_reading(std::string name, reading under_way) {
    for (;;) {
        auto listing = under_way.list->take();
        auto listed = co_await std::move(listing);
        zk_answer text;
        if (under_way.text) {
            auto taking = under_way.text->take();
            text = co_await std::move(taking);
        }
        if (listed.failed == zk_code::no_node || text.failed == zk_code::no_node) {
            listed = zk_answer();
            text = zk_answer();
        }
        if (listed.failed || text.failed)
            co_return link_->meaning_of(listed.failed ? listed.failed : text.failed);
        lock_state state(listed.children, text.data, listed.stat.version);
        if (under_way.text ? text.stat.version != state.version() : !state.all_exclusive()) {
            under_way = start_reading(name, false, true);
            continue;
        }
        state.set_reading(under_way.number);
        if (auto* const lock = find_lock(name))
            note_reading(*lock, state, listed.stat.children_made, under_way.creations);
        co_return state;
    }
}

// `creations` nodes have been made of all by then, `own_creations` of them by this session.
void zookeeper_locks::note_reading(
    own_lock& lock, const lock_state& state, std::uint32_t creations, std::uint64_t own_creations
) {
    // An older reading knows less: not of a node that was made since, say.
    if (state.reading() <= lock.seen.reading())
        return;
    // Nodes that others have made since, and that are gone already.
    const auto all = creations - lock.creations_seen;
    const auto own_since = static_cast<std::uint32_t>(own_creations - lock.creations_then);
    const auto there = state.made_by_others_since(lock.creations_seen, link_->own_id());
    lock.tried = lock.tried || (lock.has_seen && all > own_since + there);
    lock.has_seen = true;
    lock.creations_seen = creations;
    lock.creations_then = own_creations;
    lock.seen = state;
}

// The queue in which the session has made that node: read, or known by the node's number.
asio::awaitable<result<lock_state>> zookeeper_locks::see_new_node(
    std::string name, request_id id, std::string node, reading under_way
) {
    const auto entry = parse_queue_node(node);
    const bool first = entry && lone_.note_creation(name, entry->number);
    if (!find(name, id))
        co_return error_code(errc::outcome_unknown);
    if (first && !under_way.list) {
        auto& lock = *find_lock(name);
        lock_state alone({node}, "", 0);
        alone.set_reading(under_way.number);
        note_reading(lock, alone, entry->number + 1, lock.creations);
        co_return alone;
    }
    const auto watching = std::exchange(under_way.watch, nullptr);
    if (!under_way.list)
        under_way = start_reading(name, false, false);
    auto finishing = finish_reading(name, under_way);
    const auto state = co_await std::move(finishing);
    if (watching) {
        auto taking = watching->take();
        const auto watched = co_await std::move(taking);
        if (watched.failed)
            lone_.doubt(name);
    }
    co_return state;
}

// A holder wants to hear of the first that waits; and who waits first for a permit gets one when
// any of those before it ends.
bool zookeeper_locks::wants_list(const own_lock& lock) {
    return std::any_of(lock.requests.begin(), lock.requests.end(), [&](const auto& each) {
        const own_request& mine = each.second;
        const bool any_will_do =
            mine.mode.capacity() != 0 && lock.seen.waits_first(lock.seen.place_of(mine.node));
        return !mine.leaving && ((mine.granted && !mine.contended) || any_will_do);
    });
}

bool zookeeper_locks::wants_text(const own_lock& lock) {
    return std::any_of(lock.requests.begin(), lock.requests.end(), [](const auto& each) {
        return each.second.mode != lock_mode::exclusive();
    });
}

// Reads the queue; once more if it has to be read while it is read, or shows that its changes
// matter from now on.
void zookeeper_locks::refresh(const std::string& name) {
    auto* const lock = find_lock(name);
    if (!lock)
        return;
    if (lock->reading) {
        lock->read_again = true;
        return;
    }
    lock->reading = true;
    asio::co_spawn(link_->executor(), run_refresh(self(), name), asio::detached);
}

asio::awaitable<void> zookeeper_locks::run_refresh(
    [[maybe_unused]] std::shared_ptr<zookeeper_locks> owner, std::string name
) {
    for (bool again = true; again;) {
        auto* lock = find_lock(name);
        if (!lock)
            co_return;
        lock->read_again = false;
        const bool watches = wants_list(*lock);
        const auto started = start_reading(name, watches, wants_text(*lock));
        auto finishing = finish_reading(name, started);
        const auto state = co_await std::move(finishing);
        if (state && judge_all(name))
            asio::co_spawn(link_->executor(), run_advance(owner, name), asio::detached);
        lock = find_lock(name);
        if (!lock)
            co_return;
        again = lock->read_again || (state && !watches && wants_list(*lock));
        lock->reading = again;
    }
}

// Draws the conclusions from what was read. @return whether somebody is due that must be granted.
bool zookeeper_locks::judge_all(const std::string& name) {
    auto* const lock = find_lock(name);
    if (!lock)
        return false;
    const auto& seen = lock->seen;
    const auto& own = link_->own_id();
    std::vector<request_id> gone;
    bool due = false;
    for (auto& [id, mine] : lock->requests) {
        if (mine.node.empty() || mine.leaving || mine.created == 0)
            continue;
        const auto place = seen.place_of(mine.node);
        if (place == seen.nodes().size()) {
            gone.push_back(id);
            continue;
        }
        if (!mine.granted && seen.holds(place)) {
            const bool reads = mine.mode == lock_mode::shared();
            grant_to(*lock, mine, reads ? seen.phase() : mine.created, seen.slot_of(place));
            tell(store_event::kind::granted, mine, mine.contended);
        } else if (!mine.granted) {
            due = due || seen.is_due(place);
            if (place != 0 && mine.before != seen.nodes()[place - 1].name)
                watch_before(name, mine);
            if (!mine.watched && mine.mode != lock_mode::exclusive())
                watch_own(name, mine);
        }
        mine.alone = place + 1 == seen.nodes().size();
        const bool before = std::exchange(mine.contended, mine.granted && seen.others_wait(own));
        if (mine.granted && !before && (mine.contended || lock->tried)) {
            if (!mine.asking) {
                count_change();
                tell(store_event::kind::contended, mine, true);
            }
        }
        // A holder with nobody behind it watches the children, and learns of its end by that.
        if (!mine.watched && !mine.will_watch && (!mine.granted || mine.contended))
            watch_own_later(name, mine);
    }
    lock->tried = false;
    for (const auto id : gone) {
        count_change();
        drop(name, id);
        link_->tell_look_again();
    }
    return due;
}

asio::awaitable<void> zookeeper_locks::run_advance(
    [[maybe_unused]] std::shared_ptr<zookeeper_locks> owner, std::string name
) {
    auto asking = turn(name);
    const auto mine = co_await std::move(asking);
    auto advancing = advance(name, "");
    co_await std::move(advancing);
}

}  // namespace mortise::store_detail
