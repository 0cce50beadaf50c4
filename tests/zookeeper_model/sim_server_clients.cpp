// SPDX-License-Identifier: BSL-1.0
// A server and its clients: connections, requests in their order, and watches.
#include "mortise/sim/world.hpp"
#include "zookeeper_model/sim_ensemble.hpp"
#include "zookeeper_model/sim_server.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace mortise::zookeeper_model {
namespace {

using side = sim_connection::side;

}  // namespace

sim_server::client_state* sim_server::client_of(const connection_ptr& by) {
    const auto found = clients_.find(by->number());
    if (found == clients_.end())
        return nullptr;
    touch(found->second.session);
    return &found->second;
}

void sim_server::touch(session_number id) {
    if (role_ == role::leading)
        sessions_.touch(id, now());
    else
        touched_.insert(id);
}

void sim_server::drop_client(std::uint64_t id) {
    const auto found = clients_.find(id);
    if (found == clients_.end())
        return;
    const auto link = found->second.link;
    clients_.erase(found);
    link->close(side::server);
}

void sim_server::drop_clients() {
    for (const auto& [id, each] : std::exchange(clients_, {}))
        each.link->close(side::server);
}

void sim_server::take_greeting(
    const connection_ptr& by, const std::weak_ptr<client_end>& client, const greeting& words
) {
    // A server that knows less than its client would show it the past.
    if (!serves() || words.seen > tree_.last())
        return by->close(side::server);
    const auto tick_time = ensemble_.settings().tick;
    client_state fresh;
    fresh.link = by;
    fresh.client = client;
    fresh.timeout = std::clamp(words.timeout, 2 * tick_time, ensemble_.settings().session_max);
    fresh.session = words.session != 0 ? words.session : ensemble_.new_session();
    const auto id = by->number();
    by->on_end(side::server, [this, id] { clients_.erase(id); });
    transaction opening;
    opening.type = transaction::kind::open_session;
    opening.session = fresh.session;
    opening.timeout = fresh.timeout;
    opening.connection = id;
    clients_.insert_or_assign(id, std::move(fresh));
    if (words.session == 0)
        return submit(std::move(opening));
    if (role_ == role::leading)
        return confirm(id, sessions_.revalidate(opening.session, index_, opening.timeout, now()));
    tell_leader([&asker = *this, id, session = opening.session, timeout = opening.timeout](
                    sim_server& to, const connection_ptr& link
                ) {
        if (!to.follower_of(asker.index_, link))
            return;
        const bool valid = to.sessions_.revalidate(session, asker.index_, timeout, to.now());
        link->send(side::server, [&asker, id, valid](const connection_ptr& on) {
            if (asker.to_leader_ == on)
                asker.confirm(id, valid);
        });
    });
}

// One connection of a session at one server.
void sim_server::confirm(std::uint64_t id, bool valid) {
    const auto found = clients_.find(id);
    if (found == clients_.end())
        return;
    auto& fresh = found->second;
    fresh.open = valid;
    fresh.link->send(
        side::server,
        [client = fresh.client,
         session = valid ? fresh.session : 0,
         timeout = fresh.timeout](const connection_ptr& by) {
            if (const auto there = client.lock())
                there->take_session(by, session, timeout);
        }
    );
    if (!valid)
        return drop_client(id);
    std::vector<std::uint64_t> older;
    for (const auto& [other, each] : clients_) {
        if (other < id && each.session == fresh.session)
            older.push_back(other);
    }
    for (const auto each : older)
        drop_client(each);
}

void sim_server::take_request(const connection_ptr& by, zk_request request) {
    auto* const from = client_of(by);
    if (!from || !from->open)
        return;
    unanswered_request next;
    next.request = std::move(request);
    const bool changes = next.request.type == zk_request::kind::change;
    transaction change;
    change.steps = next.request.steps;
    change.several = next.request.several;
    change.session = from->session;
    change.connection = by->number();
    from->queue.push_back(std::move(next));
    if (changes)
        submit(std::move(change));
    else
        flush(*from);
}

void sim_server::take_ping(const connection_ptr& by) {
    auto* const from = client_of(by);
    if (!from)
        return;
    by->send(side::server, [client = from->client](const connection_ptr& on) {
        if (const auto there = client.lock())
            there->take_pong(on);
    });
}

// What has happened since then is told at once.
void sim_server::take_watches(const connection_ptr& by, const watch_table& watches, zxid seen) {
    auto* const from = client_of(by);
    if (!from || !from->open)
        return;
    const auto say = [&](zk_event::kind type, const std::string& path) {
        zk_event event;
        event.type = type;
        event.path = path;
        show(*from, event);
    };
    const auto set_again = [&](const auto& paths, zxid node_stat::*newest, auto type, auto watch) {
        for (const auto& path : paths) {
            const auto present = tree_.get(path);
            if (present.failed)
                say(zk_event::kind::deleted, path);
            else if (present.stat.*newest > seen)
                say(type, path);
            else
                (from->watches.*watch)(path);
        }
    };
    set_again(
        watches.data(), &node_stat::modified, zk_event::kind::changed, &watch_table::watch_data
    );
    set_again(
        watches.children(),
        &node_stat::children_changed,
        zk_event::kind::children,
        &watch_table::watch_children
    );
}

void sim_server::show(client_state& to, const zk_event& event) {
    to.link->send(side::server, [client = to.client, event](const connection_ptr& by) {
        if (const auto there = client.lock())
            there->take_event(by, event);
    });
}

void sim_server::answer(client_state& to, zk_answer reply) {
    to.link->send(
        side::server,
        [client = to.client, reply = std::move(reply), seen = tree_.last()](const connection_ptr& by
        ) {
            if (const auto there = client.lock())
                there->take_answer(by, reply, seen);
        }
    );
}

// A read waits for the changes that its client has asked for before, and for no others.
void sim_server::flush(client_state& of) {
    while (!of.queue.empty()) {
        auto& next = of.queue.front();
        if (next.request.type == zk_request::kind::change) {
            if (!next.answer)
                return;
            answer(of, std::move(*next.answer));
        } else {
            const bool lists = next.request.type == zk_request::kind::list;
            const auto& path = next.request.path;
            auto reply = lists ? tree_.list(path) : tree_.get(path);
            if (next.request.watch && !reply.failed) {
                if (lists)
                    of.watches.watch_children(path);
                else
                    of.watches.watch_data(path);
            }
            answer(of, std::move(reply));
        }
        of.queue.pop_front();
    }
}

// A change is done. It is one of this server's clients if it came by this server.
void sim_server::finish(const transaction& done, const zk_answer& reply) {
    if (done.type == transaction::kind::close_session) {
        std::vector<std::uint64_t> over;
        for (const auto& [id, each] : clients_) {
            if (each.session == done.session)
                over.push_back(id);
        }
        for (const auto each : over)
            drop_client(each);
        return;
    }
    const auto found = clients_.find(done.connection);
    if (done.server != index_ || found == clients_.end())
        return;
    if (done.type == transaction::kind::open_session)
        return confirm(done.connection, true);
    if (reply.failed == zk_code::session_moved)
        return drop_client(done.connection);
    for (auto& each : found->second.queue) {
        if (each.request.type != zk_request::kind::change || each.answer)
            continue;
        each.answer = reply;
        break;
    }
    flush(found->second);
}

}  // namespace mortise::zookeeper_model
