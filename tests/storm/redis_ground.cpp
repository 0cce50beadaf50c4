// SPDX-License-Identifier: BSL-1.0
#include "storm/redis_ground.hpp"

#include "storm/last_client.hpp"
#include "storm/plan.hpp"
#include "support/redis_parties.hpp"

#include <utility>

namespace mortise::storm {
namespace {

using std::chrono::milliseconds;

constexpr const char* names[] = {
    "cut",
    "held_commands",
    "held_answers",
    "clients_thrown_out",
    "pauses_of_the_server",
    "stops_of_the_server",
    "restarts_without_memory",
    "flushes",
};

}  // namespace

redis_ground::redis_ground(const settings& how, const asio::any_io_executor& executor)
    : ttl_(how.ttl), proxy_(executor, server_.port()), dice_(how.seed, names) {
    static_assert(std::size(names) == deeds);
}

std::string redis_ground::url(std::size_t seat) const {
    const auto port = seat % 2 == 0 ? server_.port() : proxy_.port();
    return "redis://127.0.0.1:" + std::to_string(port) + "?domain=" + domain +
           "&connect_max_ms=1000&longest_ttl_ms=" + std::to_string(ttl_.count());
}

void redis_ground::shake(clock::time_point now) {
    if (now < due_)
        return;
    if (present_ == deed::count && due_ != clock::time_point()) {
        begin(static_cast<deed>(dice_.next()), now);
        return;
    }
    end();
    due_ = now + dice_.between(200, 1'500);
}

void redis_ground::begin(deed fault, clock::time_point now) {
    const auto ttl = ttl_.count();
    present_ = fault;
    due_ = now;
    switch (fault) {
    case deed::cut:
        proxy_.cut_all();
        break;
    case deed::hold_commands:
        proxy_.hold(test::redis_proxy::way::to_server);
        due_ += dice_.between(50, 2 * ttl);
        break;
    case deed::hold_answers:
        proxy_.hold(test::redis_proxy::way::to_client);
        due_ += dice_.between(50, 2 * ttl);
        break;
    case deed::throw_out:
        server_.connect().command({"CLIENT", "KILL", "SKIPME", "yes"});
        break;
    case deed::pause: {
        const auto span = dice_.between(50, ttl);
        server_.connect().command({"CLIENT", "PAUSE", std::to_string(span.count())});
        due_ += span;
        break;
    }
    case deed::stop:
        server_.suspend();
        due_ += dice_.between(50, 2 * ttl);
        break;
    case deed::restart:
        server_.kill();
        server_.start(test::redis_server::data::lost);
        break;
    case deed::flush:
        server_.connect().command({"FLUSHALL"});
        break;
    case deed::count:
        break;
    }
}

void redis_ground::end() {
    switch (std::exchange(present_, deed::count)) {
    case deed::hold_commands:
        proxy_.let_through(test::redis_proxy::way::to_server);
        break;
    case deed::hold_answers:
        proxy_.let_through(test::redis_proxy::way::to_client);
        break;
    case deed::stop:
        server_.resume();
        break;
    default:
        break;
    }
}

void redis_ground::settle() {
    end();
}

std::string redis_ground::residue() {
    auto server = server_.connect();
    bury_the_dead(url(0), ttl_, [&server] {
        return static_cast<std::int64_t>(sessions_at(server).size());
    });
    std::string left;
    for (const auto& key : server.command({"KEYS", "*"}).texts()) {
        if (!test::is_lasting(key))
            left += "the key " + key + "; ";
    }
    return left;
}

}  // namespace mortise::storm
