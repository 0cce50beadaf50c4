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
    : ttl_(how.ttl), server_(std::move(server)), dice_(how.seed) {
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
        due_ = now + drawn(200, 2'500);
        return;
    }
    begin(static_cast<deed>(drawn(0, deeds - 1).count()), now);
}

void server_ground::begin(deed fault, clock::time_point now) {
    ++done_.at(static_cast<std::size_t>(fault));
    auto& noted = events_.emplace_back();
    noted.name = deed_names[static_cast<std::size_t>(fault)];
    noted.from = now_ns();
    due_ = now + drawn(200, 2'500);
    switch (fault) {
    case deed::throw_out:
        server_->end_connections();
        break;
    case deed::stop:
        server_->suspend();
        stopped_ = true;
        due_ = now + drawn(50, 2 * ttl_.count());
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

std::vector<std::pair<std::string, std::size_t>> server_ground::blows() const {
    std::vector<std::pair<std::string, std::size_t>> counts;
    for (std::size_t i = 0; i < deeds; ++i)
        counts.emplace_back(deed_names[i], done_[i]);
    return counts;
}

std::string server_ground::residue() {
    bury_the_dead(url(0), ttl_, [this] { return server_->sessions(); });
    return server_->residue();
}

milliseconds server_ground::drawn(std::int64_t least, std::int64_t most) {
    return milliseconds(std::uniform_int_distribution<std::int64_t>(least, most)(dice_));
}

}  // namespace mortise::storm
