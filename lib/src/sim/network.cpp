// SPDX-License-Identifier: BSL-1.0
#include "mortise/sim/network.hpp"

#include "mortise/sim/rpc.hpp"
#include "mortise/sim/world.hpp"

#include <algorithm>

namespace mortise::sim {

link& network::between(const process& from, const process& to) {
    return links_.try_emplace({from.index(), to.index()}, usual_).first->second;
}

void network::part(const process& a, const process& b) {
    cut(a, b);
    cut(b, a);
}

void network::heal() {
    usual_.loss = usual_.repetition = 0;
    usual_.cut = false;
    for (auto& [route, each] : links_)
        each = usual_;
}

const link& network::link_of(const way& route) const {
    const auto found = links_.find(route);
    return found == links_.end() ? usual_ : found->second;
}

void network::send(const process& from, process& to, std::function<void()> arrive) {
    const way route{from.index(), to.index()};
    const link& on = link_of(route);
    const fate decided = judge_ ? judge_(sent_) : fate::as_usual;
    ++sent_;
    world_.note("send", from.index(), to.index());
    if (on.cut || decided == fate::lost || world_.random().chance(on.loss)) {
        ++lost_;
        return;
    }
    const auto delay = on.delay_min + world_.random().around(on.delay_mean);
    if (decided == fate::late)
        return deliver_at(world_.now() + delay + std::chrono::seconds(1), to, std::move(arrive));
    auto& last = last_arrival_[route];
    last = std::max(world_.now() + delay, last + clock::duration(1));
    if (decided == fate::repeated || world_.random().chance(on.repetition))
        deliver_at(last + world_.random().around(on.repetition_delay_mean), to, arrive);
    deliver_at(last, to, std::move(arrive));
}

void network::deliver_at(clock::time_point when, process& to, std::function<void()> arrive) {
    world_.at(when, [&to, life = to.lives(), arrive = std::move(arrive)] {
        if (to.lives() == life)
            to.post(arrive);
    });
}

void detail::send(const process& from, process& to, std::function<void()> arrive) {
    from.in().net().send(from, to, std::move(arrive));
}

}  // namespace mortise::sim
