// SPDX-License-Identifier: BSL-1.0
// What the session learns of its nodes: by reading queues, and by watches.
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

// --- reading ---------------------------------------------------------------------------------

zookeeper_locks::reading
zookeeper_locks::start_reading(const std::string& name, bool watch, bool with_text) {
    const auto path = link_->lock_path(name);
    const auto* const lock = find_lock(name);
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
        auto* const lock = find_lock(name);
        // An older reading knows less: not of a node that was made since, say.
        if (lock && state.reading() > lock->seen.reading()) {
            // Nodes that others have made since, and that are gone already.
            const auto all = listed.stat.children_made - lock->creations_seen;
            const auto own = static_cast<std::uint32_t>(under_way.creations - lock->creations_then);
            const auto there = state.made_by_others_since(lock->creations_seen, link_->own_id());
            lock->tried = lock->tried || (lock->has_seen && all > own + there);
            lock->has_seen = true;
            lock->creations_seen = listed.stat.children_made;
            lock->creations_then = under_way.creations;
            lock->seen = state;
        }
        co_return state;
    }
}

// The first that waits for a permit gets one when any of those before it ends.
bool zookeeper_locks::wants_list(const own_lock& lock) const {
    const auto& nodes = lock.seen.nodes();
    return std::any_of(lock.requests.begin(), lock.requests.end(), [&](const auto& each) {
        const own_request& mine = each.second;
        const bool last = !nodes.empty() && nodes.back().name == mine.node;
        const bool any_will_do =
            mine.mode.capacity() != 0 && lock.seen.waits_first(lock.seen.place_of(mine.node));
        return !mine.leaving && ((mine.granted && !mine.contended) || last || any_will_do);
    });
}

bool zookeeper_locks::wants_text(const own_lock& lock) {
    return std::any_of(lock.requests.begin(), lock.requests.end(), [](const auto& each) {
        return each.second.mode != lock_mode::exclusive();
    });
}

// --- what watches tell -----------------------------------------------------------------------

void zookeeper_locks::see(const zk_event& event) {
    const auto& folder = link_->locks_path();
    if (!event.path.starts_with(folder) || event.path.size() <= folder.size())
        return;
    const auto rest = std::string_view(event.path).substr(folder.size() + 1);
    const auto slash = rest.find('/');
    const auto name = lock_of_node(rest.substr(0, slash));
    auto* const lock = name ? find_lock(*name) : nullptr;
    if (!lock)
        return;
    if (slash == std::string_view::npos) {
        if (wants_list(*lock))
            refresh(*name);
        return;
    }
    const auto node = std::string(rest.substr(slash + 1));
    const auto found =
        std::find_if(lock->requests.begin(), lock->requests.end(), [&](const auto& each) {
            return each.second.node == node;
        });
    if (event.type != zk_event::kind::changed) {
        if (ends_a_wait(*lock, node))
            refresh(*name);
        return;
    }
    if (found == lock->requests.end())
        return hear_of_grant(*lock, node);
    if (found->second.granted || found->second.leaving)
        return;
    own_request& mine = found->second;
    if (mine.mode == lock_mode::exclusive()) {
        grant_to(*lock, mine, mine.created, 0);
        tell(store_event::kind::granted, mine, mine.contended);
        watch_later(*name, mine);
    } else {
        watch(*name, mine);
    }
    if (mine.granted && wants_list(*lock))
        refresh(*name);
}

// Whoever stands behind a node that got a permit is the first that waits.
void zookeeper_locks::hear_of_grant(own_lock& lock, const std::string& node) {
    for (auto& [id, mine] : lock.requests) {
        if (mine.granted || mine.leaving || mine.before != node)
            continue;
        mine.watched = false;
        refresh(lock.name);
    }
}

// Whether the end of a node may change anything. A release tells the next one of its grant before
// it tells of its own end, which is then no news, neither to the next one nor to its own session.
bool zookeeper_locks::ends_a_wait(const own_lock& lock, const std::string& node) {
    if (wants_text(lock) || !lock.seen.all_exclusive())
        return true;
    return std::any_of(lock.requests.begin(), lock.requests.end(), [&](const auto& each) {
        const own_request& mine = each.second;
        return !mine.leaving && (mine.node == node || (!mine.granted && mine.before == node));
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
    asio::co_spawn(link_->executor(), run_refresh(shared_from_this(), name), asio::detached);
}

asio::awaitable<void> zookeeper_locks::run_refresh(
    [[maybe_unused]] std::shared_ptr<zookeeper_locks> self, std::string name
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
            asio::co_spawn(link_->executor(), run_advance(self, name), asio::detached);
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
            watch_later(name, mine);
        } else if (!mine.granted) {
            due = due || seen.is_due(place);
            const bool moved = place != 0 && mine.before != seen.nodes()[place - 1].name;
            if (!mine.watched || moved)
                watch(name, mine);
        }
        const bool before = std::exchange(mine.contended, mine.granted && seen.others_wait(own));
        if (mine.granted && !before && (mine.contended || lock->tried)) {
            if (!mine.asking) {
                ++changes_;
                tell(store_event::kind::contended, mine, true);
            }
        }
        // The watch on the children ends with that, by which it would learn of its end.
        if (mine.granted && mine.contended && !mine.watched)
            watch_later(name, mine);
    }
    lock->tried = false;
    for (const auto id : gone) {
        ++changes_;
        drop(name, id);
        link_->tell_look_again();
    }
    return due;
}

asio::awaitable<void> zookeeper_locks::run_advance(
    [[maybe_unused]] std::shared_ptr<zookeeper_locks> self, std::string name
) {
    auto asking = turn(name);
    const auto mine = co_await std::move(asking);
    if (!find_lock(name))
        co_return;
    auto advancing = advance(name, "");
    co_await std::move(advancing);
}

// Sets the two watches of a node: on itself, and, if it waits, on the one before it. That one has
// no children: a watch on them tells of its end only, and not of its grant, which matters to those
// who wait for permits only.
void zookeeper_locks::watch(const std::string& name, own_request& mine) {
    const auto* const lock = find_lock(name);
    const auto place = lock->seen.place_of(mine.node);
    mine.before.clear();
    mine.watched = true;
    zk_reply_ptr before;
    if (!mine.granted && place != 0 && place < lock->seen.nodes().size()) {
        mine.before = lock->seen.nodes()[place - 1].name;
        const auto path = path_of(*lock, mine.before);
        before = mine.mode.capacity() != 0 ? link_->get(path, true) : link_->list(path, true);
    }
    auto own = link_->get(path_of(*lock, mine.node), true);
    asio::co_spawn(
        link_->executor(),
        run_watch(shared_from_this(), name, mine.id, std::move(own), std::move(before)),
        asio::detached
    );
}

// A holder's watch on its node tells of a break only. Most hold a lock for a shorter time than a
// break may take to be heard of, and need none.
void zookeeper_locks::watch_later(const std::string& name, own_request& mine) {
    constexpr std::chrono::milliseconds pause(20);
    mine.watched = true;
    link_->set_alarm(mine.later, pause, [weak = weak_from_this(), name, id = mine.id] {
        const auto self = weak.lock();
        auto* const there = self ? self->find(name, id) : nullptr;
        if (there && there->granted && !there->leaving)
            self->watch(name, *there);
    });
}

asio::awaitable<void> zookeeper_locks::run_watch(
    [[maybe_unused]] std::shared_ptr<zookeeper_locks> self,
    std::string name,
    request_id id,
    zk_reply_ptr own,
    zk_reply_ptr before
) {
    bool reads = false;
    if (before) {
        auto taking = before->take();
        const auto answer = co_await std::move(taking);
        reads = answer.failed == zk_code::no_node || !answer.data.empty();
    }
    auto taking = own->take();
    const auto answer = co_await std::move(taking);
    auto* const mine = find(name, id);
    if (!mine || mine->leaving)
        co_return;
    if (!answer.failed && !answer.data.empty() && !mine->granted)
        read_grant(*find_lock(name), *mine, answer.data);
    if (reads || answer.failed == zk_code::no_node)
        refresh(name);
}

// --- grants ----------------------------------------------------------------------------------

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

// Others wait behind the node, as far as is known: who stood before it is gone, or holds, too.
bool zookeeper_locks::others_behind(const own_lock& lock, const own_request& mine) const {
    const auto& nodes = lock.seen.nodes();
    for (auto at = lock.seen.place_of(mine.node) + 1; at < nodes.size(); ++at) {
        if (nodes[at].session != link_->own_id() && !lock.seen.holds(at))
            return true;
    }
    return false;
}

void zookeeper_locks::grant_to(
    own_lock& lock, own_request& mine, std::uint64_t base, std::uint32_t slot
) {
    mine.granted = true;
    mine.base = base;
    mine.slot = slot;
    mine.since = link_->now();
    mine.contended = others_behind(lock, mine);
    if (!mine.asking)
        ++changes_;
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
            if (!mine || mine->granted || mine->leaving)
                continue;
            const bool reads = each.node.mode == lock_mode::shared();
            grant_to(*lock, *mine, reads ? state.phase() : mine->created, each.slot);
            tell(store_event::kind::granted, *mine, mine->contended);
        }
        if (more)
            asio::co_spawn(
                link_->executor(), run_advance(shared_from_this(), name), asio::detached
            );
        else
            refresh(name);
    }
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

// --- the link --------------------------------------------------------------------------------

// The client has set its watches again, but not those whose setting was under way.
void zookeeper_locks::reconnected() {
    for (auto& [name, lock] : locks_) {
        for (auto& [id, mine] : lock.requests)
            mine.watched = false;
        refresh(name);
    }
}

std::vector<std::string> zookeeper_locks::clear() {
    std::vector<std::string> nodes;
    for (const auto& [name, lock] : locks_) {
        for (const auto& [id, mine] : lock.requests) {
            if (!mine.node.empty())
                nodes.push_back(path_of(lock, mine.node));
        }
    }
    locks_.clear();
    changes_ = 0;
    return nodes;
}

}  // namespace mortise::store_detail
