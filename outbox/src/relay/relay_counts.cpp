// SPDX-License-Identifier: BSL-1.0
// Events, statuses and counters of a relay.
#include "mortise/outbox/error.hpp"
#include "relay/relay_core.hpp"
#include "table/schema.hpp"
#include "table/shards.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>

#include <map>
#include <memory>
#include <utility>

namespace mortise::outbox::detail {

void relay_core::tell(const relay_event& event) {
    {
        const std::lock_guard hold(status_mutex_);
        switch (event.type) {
        case relay_event::kind::taken:
            ++counts_.taken;
            break;
        case relay_event::kind::failed:
            ++counts_.failures;
            break;
        case relay_event::kind::refused:
            ++counts_.refusals;
            break;
        case relay_event::kind::mark_lost:
            ++counts_.marks_lost;
            break;
        default:
            break;
        }
    }
    if (config_.observer)
        config_.observer(event);
}

void relay_core::show(const shard_status& now) {
    const std::lock_guard hold(status_mutex_);
    status_[now.shard] = now;
}

std::vector<shard_status> relay_core::status() const {
    const std::lock_guard hold(status_mutex_);
    std::vector<shard_status> all;
    for (const auto& [shard, each] : status_)
        all.push_back(each);
    return all;
}

relay_stats relay_core::stats() const {
    using state = shard_status::state;
    const std::lock_guard hold(status_mutex_);
    relay_stats totals = counts_;
    for (const auto& [shard, each] : status_) {
        totals.sent += each.messages;
        totals.batches += each.batches;
        totals.parked += each.parked;
        totals.purged += each.purged;
        totals.writes += each.writes;
        totals.held += each.at != state::standby && each.at != state::done ? 1u : 0u;
        totals.refused += each.at == state::refused ? 1u : 0u;
    }
    return totals;
}

void relay_core::lag(lag_handler handler) {
    if (seat_.deserted())
        return;
    asio::dispatch(
        seat_.strand(),
        [self = shared_from_this(), handler = std::move(handler)]() mutable {
            if (self->stopping_)
                return handler.complete(errc::stopped, relay_lag());
            self->read_lag(std::move(handler));
        }
    );
}

void relay_core::read_lag(lag_handler handler) {
    std::map<std::uint32_t, std::int64_t> sent;
    for (const auto& each : status()) {
        if (each.at == shard_status::state::sending || each.at == shard_status::state::idle)
            sent.emplace(each.shard, each.last.row);
    }
    auto look = [sent = std::move(sent)](db::connection& on) {
        table::require(on);
        return table::lag_after(on, sent);
    };
    auto then = [handler = std::move(handler)](error_code failed, relay_lag found) mutable {
        handler.complete(failed, found);
    };
    std::shared_ptr<db::sqlite> from;
    try {
        from = session();
    } catch (const boost::system::system_error& failed) {
        return then(failed.code(), relay_lag());
    }
    from->async_read(std::move(look), asio::bind_executor(seat_.strand(), std::move(then)));
}

}  // namespace mortise::outbox::detail
