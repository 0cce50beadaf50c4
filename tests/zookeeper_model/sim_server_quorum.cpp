// SPDX-License-Identifier: BSL-1.0
// How servers agree: a leader, who puts changes into their order, and followers, who write them
// down before they are done.
#include "mortise/sim/world.hpp"
#include "zookeeper_model/sim_ensemble.hpp"
#include "zookeeper_model/sim_server.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace mortise::zookeeper_model {
namespace {

using side = sim_connection::side;

constexpr unsigned epoch_bits = 32;

}  // namespace

clock::duration sim_server::patience() const {
    return ensemble_.settings().tick * ensemble_.settings().sync_limit;
}

void sim_server::seek_leader() {
    host_.in().say(host_.name() + " looks for a leader");
    role_ = role::looking;
    serving_ = false;
    for (const auto& [index, each] : std::exchange(followers_, {}))
        each.link->close(side::server);
    if (const auto link = std::exchange(to_leader_, nullptr))
        link->close(side::client);
    leader_ = nullptr;
    drop_clients();
    ensemble_.look_for_leader();
}

void sim_server::lead(std::uint64_t epoch) {
    if (!looks())
        return;
    host_.in().say(host_.name() + " leads epoch " + std::to_string(epoch));
    role_ = role::leading;
    led_epoch_ = epoch;
    proposed_ = 0;
    sessions_.clear();
    leads_since_ = containers_looked_at_ = now();
    touched_.clear();
    if (ensemble_.quorum() == 1)
        establish();
}

void sim_server::follow(sim_server& leader) {
    if (!looks() || !leader.leads() || leader.epoch() < epoch_)
        return;
    host_.in().say(host_.name() + " follows " + leader.host().name());
    role_ = role::following;
    leader_ = &leader;
    heard_leader_ = now();
    touched_.clear();
    to_leader_ =
        std::make_shared<sim_connection>(ensemble_.next_connection(), host_, leader.host());
    to_leader_->on_end(side::client, [this, number = to_leader_->number()] {
        if (to_leader_ && to_leader_->number() == number)
            seek_leader();
    });
    tell_leader([from = index_](sim_server& to, const connection_ptr& by) {
        to.take_follower(from, by);
    });
}

// What is under way on a connection that was given up is heard by nobody.
template <class Say>
void sim_server::tell_leader(Say say) {
    if (!to_leader_)
        return;
    to_leader_->send(
        side::client,
        [leader = leader_, say = std::move(say)](const connection_ptr& by) { say(*leader, by); }
    );
}

template <class Say>
void sim_server::tell_followers(Say say) {
    for (const auto& [index, each] : followers_) {
        each.link->send(
            side::server,
            [&to = ensemble_.server(index), say](const connection_ptr& by) { say(to, by); }
        );
    }
}

void sim_server::take_follower(std::size_t from, const connection_ptr& by) {
    if (!leads()) {
        by->close(side::server);
        return;
    }
    follower_state fresh;
    fresh.link = by;
    fresh.heard = now();
    followers_.insert_or_assign(from, fresh);
    by->on_end(side::server, [this, from, number = by->number()] {
        const auto found = followers_.find(from);
        if (found != followers_.end() && found->second.link->number() == number)
            followers_.erase(found);
    });
    by->send(
        side::server,
        [&to = ensemble_.server(from),
         epoch = led_epoch_,
         tree = std::make_shared<const znode_tree>(tree_),
         pending = pending_](const connection_ptr& on) { to.take_state(on, epoch, tree, pending); }
    );
}

void sim_server::take_state(
    const connection_ptr& by,
    std::uint64_t epoch,
    const std::shared_ptr<const znode_tree>& tree,
    const std::deque<transaction>& pending
) {
    if (by != to_leader_)
        return;
    heard_leader_ = now();
    tree_ = *tree;
    pending_ = pending;
    epoch_ = epoch;
    tell_leader([from = index_, number = last_logged()](auto& to, const auto& on) {
        to.take_ack(from, on, number);
    });
}

sim_server::follower_state* sim_server::follower_of(std::size_t from, const connection_ptr& by) {
    const auto found = followers_.find(from);
    if (!leads() || found == followers_.end() || found->second.link != by)
        return nullptr;
    found->second.heard = now();
    return &found->second;
}

void sim_server::take_ack(std::size_t from, const connection_ptr& by, zxid number) {
    auto* const follower = follower_of(from, by);
    if (!follower)
        return;
    follower->acked = number;
    if (serving_) {
        advance();
        return send_serving(*follower, from);
    }
    const auto ready = std::count_if(followers_.begin(), followers_.end(), [](const auto& each) {
        return each.second.acked.has_value();
    });
    if (static_cast<std::size_t>(ready) + 1 >= ensemble_.quorum())
        establish();
}

// All that it has written down is done: a majority has it.
void sim_server::establish() {
    epoch_ = led_epoch_;
    advance();
    for (const auto& [id, timeout] : tree_.sessions())
        sessions_.track(id, timeout, now());
    serving_ = true;
    for (auto& [index, each] : followers_)
        send_serving(each, index);
}

void sim_server::send_serving(follower_state& to, std::size_t index) {
    if (!to.acked || std::exchange(to.serving, true))
        return;
    to.link->send(side::server, [&follower = ensemble_.server(index)](const connection_ptr& by) {
        follower.take_serving(by);
    });
}

void sim_server::take_serving(const connection_ptr& by) {
    if (by == to_leader_)
        serving_ = true;
}

void sim_server::watch_followers() {
    std::vector<std::size_t> silent;
    for (const auto& [index, each] : followers_) {
        if (now() - each.heard > patience())
            silent.push_back(index);
    }
    for (const auto index : silent) {
        followers_.at(index).link->close(side::server);
        followers_.erase(index);
    }
    if (followers_.size() + 1 < ensemble_.quorum() && now() - leads_since_ > patience())
        return seek_leader();
    tell_followers([](sim_server& to, const connection_ptr& by) { to.take_leader_ping(by); });
}

void sim_server::take_leader_ping(const connection_ptr& by) {
    if (by != to_leader_)
        return;
    heard_leader_ = now();
    tell_leader([from = index_, touched = std::exchange(touched_, {})](auto& to, const auto& on) {
        to.take_touches(from, on, touched);
    });
}

void sim_server::take_touches(
    std::size_t from, const connection_ptr& by, const std::set<session_number>& touched
) {
    if (!follower_of(from, by))
        return;
    for (const auto id : touched)
        sessions_.touch(id, now());
}

// A change that a client of this server wants, or its session.
void sim_server::submit(transaction one) {
    one.server = index_;
    if (role_ == role::leading)
        return admit(index_, std::move(one));
    tell_leader([from = index_, one = std::move(one)](auto& to, const auto& by) {
        if (to.follower_of(from, by))
            to.admit(from, one);
    });
}

void sim_server::admit(std::size_t from, transaction one) {
    if (!leads() || !serving_)
        return;
    if (one.type == transaction::kind::change)
        one.refused = sessions_.check(one.session, from);
    propose(std::move(one));
}

void sim_server::propose(transaction one) {
    one.number = (led_epoch_ << epoch_bits) | ++proposed_;
    one.time = time_of_day();
    pending_.push_back(one);
    tell_followers([one](sim_server& to, const connection_ptr& by) { to.take_proposal(by, one); });
    advance();
}

void sim_server::take_proposal(const connection_ptr& by, const transaction& one) {
    if (by != to_leader_)
        return;
    heard_leader_ = now();
    pending_.push_back(one);
    tell_leader([from = index_, number = one.number](auto& to, const auto& on) {
        to.take_ack(from, on, number);
    });
}

// Does what a majority has written down.
void sim_server::advance() {
    std::vector<zxid> logged{last_logged()};
    for (const auto& [index, each] : followers_)
        logged.push_back(each.acked.value_or(0));
    logged.resize(ensemble_.size());
    std::sort(logged.rbegin(), logged.rend());
    const zxid safe = logged[ensemble_.quorum() - 1];
    while (!pending_.empty() && pending_.front().number <= safe) {
        const transaction next = std::move(pending_.front());
        pending_.pop_front();
        tell_followers([number = next.number](sim_server& to, const connection_ptr& by) {
            to.take_commit(by, number);
        });
        commit(next);
    }
}

void sim_server::take_commit(const connection_ptr& by, zxid number) {
    if (by != to_leader_)
        return;
    heard_leader_ = now();
    while (!pending_.empty() && pending_.front().number <= number) {
        const transaction next = std::move(pending_.front());
        pending_.pop_front();
        commit(next);
    }
}

void sim_server::commit(const transaction& one) {
    std::vector<zk_event> seen;
    const auto reply = tree_.apply(one, seen);
    for (const auto& event : seen) {
        for (auto& [id, each] : clients_) {
            if (each.watches.take(event))
                show(each, event);
        }
    }
    if (role_ == role::leading && serving_) {
        if (one.type == transaction::kind::open_session) {
            sessions_.track(one.session, one.timeout, now());
            static_cast<void>(sessions_.check(one.session, one.server));
        } else if (one.type == transaction::kind::close_session) {
            sessions_.forget(one.session);
        }
    }
    finish(one, reply);
}

}  // namespace mortise::zookeeper_model
