// SPDX-License-Identifier: BSL-1.0
#include "storm/server_ground.hpp"

#include "storm/last_client.hpp"
#include "storm/plan.hpp"
#include "storm/record.hpp"

#include <utility>

namespace mortise::storm {
namespace {

using std::chrono::milliseconds;

constexpr const char* deed_names[] = {
    "clients_thrown_out",
    "stops_of_the_server",
    "restarts_of_the_server",
    "crashes_of_the_server",
};

}  // namespace

server_ground::server_ground(const settings& how, std::unique_ptr<test::store_server> server)
    : ttl_(how.ttl), server_(std::move(server)), dice_(how.seed, deed_names) {
    static_assert(std::size(deed_names) == deeds);
}

std::string server_ground::url(std::size_t) const {
    return server_->url() + '?' + server_->options() + "domain=" + domain + "&connect_max_ms=1000";
}

void server_ground::shake(clock::time_point now) {
    if (now < due_)
        return;
    if (stopped_ || due_ == clock::time_point()) {
        settle();
        due_ = now + dice_.between(200, 2'500);
        return;
    }
    begin(static_cast<deed>(dice_.next()), now);
}

void server_ground::begin(deed fault, clock::time_point now) {
    auto& noted = events_.emplace_back();
    noted.name = deed_names[static_cast<std::size_t>(fault)];
    noted.from = now_ns();
    due_ = now + dice_.between(200, 2'500);
    switch (fault) {
    case deed::throw_out:
        server_->end_connections();
        break;
    case deed::stop:
        server_->suspend();
        stopped_ = true;
        due_ = now + dice_.between(50, 2 * ttl_.count());
        break;
    case deed::restart:
        server_->restart();
        break;
    case deed::crash:
        server_->crash();
        break;
    case deed::count:
        break;
    }
    noted.until = now_ns();
}

void server_ground::settle() {
    if (!std::exchange(stopped_, false))
        return;
    server_->resume();
    events_.back().until = now_ns();
}

std::string server_ground::residue() {
    bury_the_dead(url(0), ttl_, [this] { return server_->sessions(); });
    return server_->residue();
}

}  // namespace mortise::storm
