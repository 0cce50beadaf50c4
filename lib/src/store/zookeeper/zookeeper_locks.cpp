// SPDX-License-Identifier: BSL-1.0
// What the session asks for.
#include "store/zookeeper/zookeeper_locks.hpp"

#include "core/queue_view.hpp"
#include "zookeeper/zk_error.hpp"

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

asio::awaitable<result<answer>> zookeeper_locks::ask(const lock_request& wish) {
    const auto& name = wish.name;
    const auto before = ends();
    if (!link_->usable())
        co_return link_->meaning_of(zk_code::invalid_state);
    if (auto* const known = find(name, wish.id)) {
        known->asking = true;
        auto asking = ask_again(name, wish.id);
        if (const error_code failed = co_await std::move(asking))
            co_return failed;
        if (find(name, wish.id))
            co_return answer_of(name, wish.id);
        if (!link_->usable() || before != ends())
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
    constexpr std::size_t node_name_max = 76;
    auto room = take_room(lock.path, node_name_max);
    if (!room) {
        drop(name, wish.id);
        co_return error_code(errc::store_full);
    }
    auto& fresh = lock.requests.try_emplace(wish.id, wish.id, wish.mode).first->second;
    fresh.room = std::move(room);
    fresh.asking = true;
    auto entering = enter(name, wish.id);
    const error_code entered = co_await std::move(entering);
    auto concluding = conclude(wish, entered);
    co_return co_await std::move(concluding);
}

// The answer to a request whose node was to be made.
asio::awaitable<result<answer>>
zookeeper_locks::conclude(const lock_request& wish, error_code entered) {
    const auto& name = wish.name;
    if (entered) {
        // Whether there is a node is known, unless the answer is lost.
        const auto* const mine = find(name, wish.id);
        if (mine && mine->node.empty() && entered != errc::outcome_unknown)
            drop(name, wish.id);
        co_return entered;
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

// Makes the node, and begins to read the queue behind it, unless its number is expected to tell
// all. The parent is made first if the lock is new, or was unused for so long that the servers have
// deleted it.
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
        const bool plain = mode == lock_mode::exclusive();
        const bool lone = plain && lone_.expects(name);
        zk_reply_ptr watching;
        if (plain && lone_.wants_watch(name)) {
            lone_.note_watch(name);
            watching = link_->get(path, true);
        }
        const auto making = link_->create(
            path + '/' + node_prefix(link_->own_id(), id, mode), "", node_kind::ephemeral_sequential
        );
        const bool watch = mode.capacity() != 0;
        begun = lone ? reading() : start_reading(name, watch, !plain);
        begun.number = lone ? ++readings_ : begun.number;
        begun.watch = std::move(watching);
        auto taking = making->take();
        creation = co_await std::move(taking);
        if (creation.failed != zk_code::no_node)
            break;
        lone_.doubt(name);
        lock = find_lock(name);
        if (lock)
            --lock->creations;
        const auto parent = link_->create(path, "", node_kind::container);
        auto waiting = parent->take();
        const auto done = co_await std::move(waiting);
        if (done.failed && done.failed != zk_code::node_exists)
            co_return done;
    }
    if (creation.failed)
        lone_.doubt(name);  // Nobody looks whether the parent is watched.
    co_return creation;
}

// Makes the node, and looks where it stands.
asio::awaitable<error_code> zookeeper_locks::enter(const std::string& name, request_id id) {
    reading under_way;
    auto making = make_node(name, id, under_way);
    const auto creation = co_await std::move(making);
    if (creation.failed)
        co_return link_->meaning_of(creation.failed);
    auto joining = join(name, id, creation, under_way);
    co_return co_await std::move(joining);
}

// Goes on when the node is made.
asio::awaitable<error_code> zookeeper_locks::join(
    const std::string& name, request_id id, const zk_answer& creation, reading under_way
) {
    auto seeing = see_new_node(name, id, last_part(creation.path), under_way);
    const auto state = co_await std::move(seeing);
    auto* const mine = find(name, id);
    if (!mine)
        co_return errc::outcome_unknown;
    mine->node = last_part(creation.path);
    if (!state)
        co_return errc::outcome_unknown;  // it is there, but where?
    // From now on it is judged by what was read: all that is older does not show it.
    mine->created = creation.stat.created;
    const auto node = parse_queue_node(mine->node);
    if (node && node->is_near_the_end()) {
        auto leaving = leave(name, id);
        const auto left = co_await std::move(leaving);
        co_return link_->note(
            left ? error_code(errc::store_unavailable) : left.error(),
            "the lock has had 2^31 requests: when nobody holds it, it begins anew within a minute"
        );
    }
    auto settling = take_place(name, id, *state);
    co_return co_await std::move(settling);
}

// Draws the conclusions from a reading of the queue in which a request has its node.
asio::awaitable<error_code>
zookeeper_locks::take_place(const std::string& name, request_id id, lock_state state) {
    auto* const lock = find_lock(name);
    auto* const mine = find(name, id);
    const auto place = state.place_of(mine->node);
    if (place == state.nodes().size()) {
        drop(name, id);
        co_return error_code();  // it was broken already
    }
    const auto capacity = mine->mode.capacity();
    const auto other = capacity != 0 ? state.capacity_before(place) : 0;
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
        auto granting = grant_due(name, state, "");
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
    auto* mine = find(name, id);
    if (mine && !mine->granted) {
        auto seeing = read(name, mine->mode.capacity() != 0, mine->mode != lock_mode::exclusive());
        const auto state = co_await std::move(seeing);
        if (!state)
            co_return state.error();
        mine = find(name, id);
        if (mine && !mine->granted) {
            auto settling = take_place(name, id, *state);
            co_return co_await std::move(settling);
        }
    }
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
    const auto kept = self();
    if (!link_->usable())
        co_return link_->meaning_of(zk_code::invalid_state);
    std::vector<std::string> names;
    for (const auto& [name, lock] : locks_)
        names.push_back(name);
    std::vector<reading> readings;
    for (const auto& name : names) {
        const auto& lock = *find_lock(name);
        readings.push_back(start_reading(name, wants_list(lock), wants_text(lock)));
    }
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
            judge_all(names[i]);  // Another session may have been quicker to grant what was due.
        }
    }
    session_view view;
    view.changes = changes();
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

std::shared_ptr<lock_form> make_queue_form(std::shared_ptr<zookeeper_link> link) {
    return std::make_shared<zookeeper_locks>(std::move(link));
}

}  // namespace mortise::store_detail
