// SPDX-License-Identifier: BSL-1.0
#include "zookeeper_model/sim_connection.hpp"

#include "mortise/sim/network.hpp"
#include "mortise/sim/world.hpp"

#include <chrono>
#include <utility>

namespace mortise::zookeeper_model {
namespace {

// A connection ends after its packets were resent for this long without arriving.
constexpr std::chrono::seconds hole_max(3);

}  // namespace

sim_connection::sim_connection(std::uint64_t number, sim::process& client, sim::process& server)
    : number_(number) {
    end_of(side::client).process = &client;
    end_of(side::client).life = client.lives();
    end_of(side::server).process = &server;
    end_of(side::server).life = server.lives();
}

void sim_connection::send(side from, message arrive) {
    auto& end = end_of(from);
    if (end.closed)
        return;
    auto& process = *end.process;
    process.in().net().send(
        process,
        *end_of(other(from)).process,
        [self = shared_from_this(), from, number = end.sent++, arrive = std::move(arrive)] {
            self->arrived(other(from), number, arrive);
        }
    );
}

void sim_connection::close(side by) {
    send(by, [by](const connection_ptr& self) { self->hear_end(other(by)); });
    auto& end = end_of(by);
    end.closed = true;
    end.ended = nullptr;
}

void sim_connection::arrived(side at, std::uint64_t number, message next) {
    auto& end = end_of(at);
    // A machine that does not know the connection any more says so.
    if (end.closed || end.process->lives() != end.life)
        return reset(at);
    end.inbox.put(number, std::move(next));
    while (!end.closed) {
        const auto taken = end.inbox.take();
        if (!taken)
            break;
        (*taken)(shared_from_this());
    }
    if (end.closed || !end.inbox.has_hole())
        return;
    auto& process = *end.process;
    process.in().after(hole_max, [self = shared_from_this(), at, awaited = end.inbox.next()] {
        auto& there = self->end_of(at);
        if (there.process->alive() && there.process->lives() == there.life)
            there.process->post([self, at, awaited] { self->break_at_hole(at, awaited); });
    });
}

void sim_connection::break_at_hole(side at, std::uint64_t awaited) {
    if (end_of(at).inbox.next() != awaited)
        return;
    reset(at);
    hear_end(at);
}

// Not one of the messages in their order: it is heard whatever was lost before.
void sim_connection::reset(side from) {
    auto& to = end_of(other(from));
    if (to.closed)
        return;
    auto& process = *end_of(from).process;
    process.in().net().send(process, *to.process, [self = shared_from_this(), from] {
        const auto& end = self->end_of(other(from));
        if (end.process->lives() == end.life)
            self->hear_end(other(from));
    });
}

void sim_connection::hear_end(side at) {
    auto& end = end_of(at);
    if (std::exchange(end.closed, true))
        return;
    if (const auto handler = std::exchange(end.ended, nullptr))
        handler();
}

}  // namespace mortise::zookeeper_model
