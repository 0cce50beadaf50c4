// SPDX-License-Identifier: BSL-1.0
#include "relay/shard_parking.hpp"

#include "mortise/outbox/error.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace mortise::outbox::detail {

void shard_parking::begin() {
    away_ = true;  // An earlier relay may have parked rows for a missing topic.
    look_at_ = shard_.now();
    walks_.clear();
}

bool shard_parking::is_look_due() const {
    return away_ && shard_.now() >= look_at_;
}

clock::duration shard_parking::until_look() const {
    if (!away_)
        return clock::duration::max();
    return std::max(look_at_ - shard_.now(), clock::duration(0));
}

asio::awaitable<bool> shard_parking::park(std::vector<table::poison_row> poison) {
    const auto session = shard_.relay.session();
    ++shard_.status.writes;
    auto work = [by = shard_.by, poison](db::connection& on) {
        return table::park(on, by, poison);
    };
    const auto [failed, moved] =
        co_await session->async_run(std::move(work), db::durability::force, with_code);
    if (!note_parked(failed, moved))
        co_return false;
    for (auto& each : poison) {
        if (each.away && !std::exchange(away_, true))
            look_at_ = shard_.now() + shard_.relay.config().topic_look_every;
        relay_event event;
        event.type = relay_event::kind::parked;
        event.shard = shard_.number;
        event.row = each.row;
        event.text = std::move(each.reason);
        shard_.relay.tell(event);
    }
    co_return true;
}

asio::awaitable<bool> shard_parking::park_blocked(std::vector<std::int64_t> rows) {
    auto work = [by = shard_.by, rows = std::move(rows)](db::connection& on) {
        return table::park_blocked(on, by, rows);
    };
    const auto session = shard_.relay.session();
    ++shard_.status.writes;
    const auto [failed, moved] =
        co_await session->async_run(std::move(work), db::durability::force, with_code);
    co_return note_parked(failed, moved);
}

bool shard_parking::note_parked(error_code failed, std::size_t moved) {
    if (failed == errc::superseded)
        return false;
    if (failed)
        throw boost::system::system_error(failed);
    shard_.status.parked += moved;
    shard_.relay.show(shard_.status);
    return true;
}

asio::awaitable<std::optional<shard_end>> shard_parking::look_for_topics() {
    const auto work = [shard = shard_.number](db::connection& on) {
        return table::away_topics(on, shard);
    };
    const auto found = co_await shard_.relay.session()->async_read(work);
    std::map<std::string, bool> is_there;
    bool more = false;
    for (const auto& each : found) {
        const auto [asked, fresh] = is_there.try_emplace(each.topic, false);
        if (fresh) {
            const auto reply = co_await shard_.sink->has_topic(each.topic);
            if (!reply && reply.error() == asio::error::operation_aborted)
                co_return shard_end::lost;
            if (!reply)
                break;  // The sink cannot tell about the others either.
            asked->second = *reply;
        }
        if (!asked->second) {
            walks_.erase({each.shard, each.topic});
            continue;
        }
        const auto walk = co_await send_returned(each);
        if (!walk)
            co_return shard_end::superseded;
        more = more || walk->more;
    }
    away_ = !found.empty();
    look_at_ = shard_.now();
    if (!more)
        look_at_ += shard_.relay.config().topic_look_every;
    co_return std::nullopt;
}

// Returns a portion, because writers wait meanwhile. The shard sends these rows before the next
// portion: each portion looks at all unsent rows, which would take longer and longer.
// @return nothing if another relay has the shard.
asio::awaitable<std::optional<table::returned_walk>>
shard_parking::send_returned(const table::away_topic& topic) {
    constexpr std::size_t rows_at_once = 1'000;
    const std::pair place(topic.shard, topic.topic);
    const auto known = walks_.find(place);
    const table::returned_walk before =
        known == walks_.end() ? table::returned_walk() : known->second;
    auto work = [by = shard_.by, sent = shard_.known.last.row, topic, before](db::connection& on) {
        return table::send_returned(on, by, sent, topic, before, rows_at_once);
    };
    const auto session = shard_.relay.session();
    ++shard_.status.writes;
    const auto [failed, walk] =
        co_await session->async_run(std::move(work), db::durability::force, with_code);
    if (failed == errc::superseded)
        co_return std::nullopt;
    if (failed)
        throw boost::system::system_error(failed);
    if (walk.more)
        walks_.insert_or_assign(place, walk);
    else
        walks_.erase(place);
    if (before.sent == 0 && walk.sent > 0)
        shard_.tell(relay_event::kind::returned, {}, topic.topic);
    co_return walk;
}

}  // namespace mortise::outbox::detail
