// SPDX-License-Identifier: BSL-1.0
// Parks rows that cannot be sent, and returns them once their topic exists.
#include "mortise/outbox/error.hpp"
#include "relay/relay_core.hpp"
#include "relay/shard_runner.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>

#include <map>
#include <string>
#include <utility>

namespace mortise::outbox::detail {
namespace {

constexpr auto parked_code = asio::as_tuple(asio::deferred);

}  // namespace

// Parks rows. @return whether the shard is still ours.
asio::awaitable<bool> shard_runner::park(std::vector<table::poison_row> poison) {
    const auto session = core_.session();
    ++status_.writes;
    auto work = [by = by_, poison](db::connection& on) { return table::park(on, by, poison); };
    auto parking = session->async_run(std::move(work), db::durability::force, parked_code);
    const auto [failed, moved] = co_await std::move(parking);
    if (!parked(failed, moved))
        co_return false;
    for (auto& each : poison) {
        if (each.away && !std::exchange(away_, true))
            look_at_ = now() + core_.config().topic_look_every;
        relay_event event;
        event.type = relay_event::kind::parked;
        event.shard = shard_;
        event.row = each.row;
        event.text = std::move(each.reason);
        core_.tell(event);
    }
    co_return true;
}

asio::awaitable<bool> shard_runner::park_blocked(std::vector<std::int64_t> rows) {
    auto work = [by = by_, rows = std::move(rows)](db::connection& on) {
        return table::park_blocked(on, by, rows);
    };
    const auto session = core_.session();
    ++status_.writes;
    auto parking = session->async_run(std::move(work), db::durability::force, parked_code);
    const auto [failed, moved] = co_await std::move(parking);
    co_return parked(failed, moved);
}

bool shard_runner::parked(error_code failed, std::size_t moved) {
    if (failed == errc::superseded)
        return false;
    if (failed)
        throw boost::system::system_error(failed);
    status_.parked += moved;
    core_.show(status_);
    return true;
}

// Looks for missing topics with parked rows. @return how sending ended, if it did.
asio::awaitable<std::optional<shard_runner::end>> shard_runner::look_for_topics() {
    const auto work = [shard = shard_](db::connection& on) {
        return table::away_topics(on, shard);
    };
    auto reading = core_.session()->async_read(work);
    const auto found = co_await std::move(reading);
    std::map<std::string, bool> is_there;
    for (const auto& each : found) {
        const auto [asked, fresh] = is_there.try_emplace(each.topic, false);
        if (fresh) {
            auto asking = sink_->has_topic(each.topic);
            const auto reply = co_await std::move(asking);
            if (!reply && reply.error() == asio::error::operation_aborted)
                co_return end::lost;
            if (!reply)
                break;  // The sink cannot tell about the others either.
            asked->second = *reply;
        }
        if (!asked->second)
            continue;
        auto sending = send_returned(each);
        const auto sent = co_await std::move(sending);
        if (!sent)
            co_return end::superseded;
        if (*sent > 0)
            tell(relay_event::kind::returned, {}, each.topic);
    }
    away_ = !found.empty();
    look_at_ = now() + core_.config().topic_look_every;
    co_return std::nullopt;
}

// Returns rows in portions, because writers wait meanwhile. @return how many rows; none if another
// relay has the shard.
asio::awaitable<std::optional<std::size_t>>
shard_runner::send_returned(const table::away_topic& topic) {
    constexpr std::size_t rows_at_once = 1'000;
    table::returned_portion portion;
    std::size_t sent = 0;
    do {
        auto work = [by = by_, topic, from = portion.next](db::connection& on) {
            return table::send_returned(on, by, topic, from, rows_at_once);
        };
        const auto session = core_.session();
        ++status_.writes;
        auto sending = session->async_run(std::move(work), db::durability::force, parked_code);
        const auto [failed, next] = co_await std::move(sending);
        if (failed == errc::superseded)
            co_return std::nullopt;
        if (failed)
            throw boost::system::system_error(failed);
        portion = next;
        sent += portion.sent;
    } while (portion.more);
    co_return sent;
}

}  // namespace mortise::outbox::detail
