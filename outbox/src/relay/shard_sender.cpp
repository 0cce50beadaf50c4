// SPDX-License-Identifier: BSL-1.0
#include "relay/shard_sender.hpp"

#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/outbox/error.hpp"
#include "table/rows.hpp"
#include "table/schema.hpp"
#include "wall_clock.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_executor.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

namespace mortise::outbox::detail {

/// A read of rows that is under way.
///
/// @par Threads   The relay's strand.
/// @par Lifetimes Shared by the waiter and the read: either may end first.
class shard_sender::pending_read {
public:
    pending_read(const asio::any_io_executor& strand, std::uint64_t number, std::int64_t row)
        : read(number), after(row), ready(strand) {}

    const std::uint64_t read;  ///< The number of this read at the relay.
    const std::int64_t after;  ///< It reads rows after this one.
    coro::event ready;
    error_code failed;
    table::batch found;
};

shard_sender::shard_sender(shard_context& shard)
    : shard_(shard), parking_(shard), batch_rows_(shard.relay.config().batch_rows) {}

// Binds a shard only to a sink that has something of it. A sink that was opened and received
// nothing may be a mistake in the configuration, and must not exclude the right one.
void shard_sender::begin(const opening& opened) {
    identity_ = opened.identity;
    bound_ = shard_.known.sink == identity_;
    if (opened.last)
        shard_.known.sink = identity_;
    sent_at_ = shard_.now();
    parking_.begin();
    // The mark may cover more rows than this relay has sent.
    purge_wanted_ = true;
    purge_at_ = shard_.now() + shard_.relay.config().purge_after;
}

// Sends all batches. While one batch is sent, the next one is read.
asio::awaitable<shard_end> shard_sender::send_all() {
    std::shared_ptr<pending_read> reading;
    bool looked = false;  // since the last batch
    while (!shard_.relay.stopping() && !shard_.leaving) {
        if (!reading || reading->after != shard_.known.last.row)
            reading = start_read(shard_.known.last.row);
        co_await reading->ready.async_wait();
        if (reading->failed)
            throw boost::system::system_error(reading->failed);
        const std::uint64_t number = reading->read;
        auto next = std::move(reading->found);
        reading.reset();
        MORTISE_CRASH_POINT("relay.read");
        if (next.newest_layout != layout_seen_) {
            layout_seen_ = next.newest_layout;
            shard_.relay.look_for_shards();
        }
        shard_.relay.due_at(next.next_due);
        const bool poisoned = !next.corrupt.empty();
        if (poisoned || !next.blocked.empty()) {
            std::vector<table::poison_row> corrupt;
            for (const auto each : next.corrupt)
                corrupt.emplace_back(each, error_code(errc::corrupt_row).message());
            auto parking =
                poisoned ? parking_.park(std::move(corrupt)) : parking_.park_blocked(next.blocked);
            if (!co_await std::move(parking))
                co_return shard_end::superseded;
            continue;
        }
        // Look only when little else waits, and send something between two looks: moving the rows
        // behind such messages takes long, and writers wait meanwhile.
        if (parking_.is_look_due() && !next.more && (next.last_row == 0 || !looked)) {
            looked = true;
            if (const auto ending = co_await parking_.look_for_topics())
                co_return *ending;
            continue;
        }
        if (next.last_row == 0) {
            shard_.relay.drains().emptied(shard_.number, number);
            if (const auto ending = co_await be_idle(next.newest_layout))
                co_return *ending;
            continue;
        }
        looked = false;
        shard_.set(shard_status::state::sending);
        if (next.more)
            reading = start_read(next.last_row);
        if (const auto ending = co_await send(next))
            co_return *ending;
        if (purge_due()) {
            if (!co_await purge())
                co_return shard_end::superseded;
        }
    }
    co_return shard_end::lost;
}

std::shared_ptr<shard_sender::pending_read> shard_sender::start_read(std::int64_t after) {
    shard_.news.reset();  // Rows committed from now on may be too late for this read.
    const auto pending =
        std::make_shared<pending_read>(shard_.relay.strand(), shard_.relay.begin_read(), after);
    auto work = [shard = shard_.number,
                 after,
                 rows = batch_rows_,
                 bytes = shard_.relay.config().batch_bytes,
                 log = shard_.relay.log()](db::connection& on) {
        auto found = table::read(on, shard, after, rows, bytes);
        // Never send rows that a crash of the host would take back.
        if (!found.rows.empty())
            log->make_durable(on);
        return found;
    };
    shard_.relay.session()->async_read(
        std::move(work),
        asio::bind_executor(
            shard_.relay.strand(),
            [pending](error_code failed, table::batch found) {
                pending->failed = failed;
                pending->found = std::move(found);
                pending->ready.set();
            }
        )
    );
    return pending;
}

// Sends one batch; the sink may move from its messages. @return how sending ended, if it did.
asio::awaitable<std::optional<shard_end>> shard_sender::send(table::batch& next) {
    if (!bound_) {
        if (!co_await bind_to_sink())
            co_return shard_end::superseded;
    }
    mark after = shard_.known.last;
    ++after.sequence;
    after.row = next.last_row;
    after.message = next.last_message;
    const auto begun = shard_.now();
    const std::size_t count = next.rows.size();
    auto outcome = co_await publish(next.rows, after);
    MORTISE_CRASH_POINT("relay.published");
    for (std::string& each : outcome.notices)
        shard_.tell(relay_event::kind::noticed, {}, std::move(each));
    if (outcome.type != published::kind::committed && outcome.done > 0) {
        const outgoing& last = next.rows.at(outcome.done - 1);
        mark so_far = after;
        so_far.row = last.row;
        so_far.message = last.message.id;
        advance(so_far, outcome.done, std::string());
        tell_sent(outcome.done, shard_.now() - begun);
    }
    resize_batches(outcome.type);
    switch (outcome.type) {
    case published::kind::committed:
        shard_.status.trouble = {};
        shard_.status.text.clear();
        shard_.status.batches += next.rows.empty() ? 0u : 1u;
        advance(after, count, std::move(outcome.place));
        if (count > 0)
            tell_sent(count, shard_.now() - begun);
        co_return std::nullopt;
    case published::kind::refused: {
        std::vector<table::poison_row> poison;
        for (auto& each : outcome.poison) {
            std::string reason = each.code.message() + ": " + each.text;
            if (each.away)
                reason += "; sent when the topic is there";
            poison.emplace_back(next.rows.at(each.index).row, std::move(reason), each.away);
        }
        if (!co_await parking_.park(std::move(poison)))
            co_return shard_end::superseded;
        co_return std::nullopt;
    }
    case published::kind::again: {
        co_await shard_.pause_after(outcome.code, std::move(outcome.text));
        co_return std::nullopt;
    }
    case published::kind::lost:
        break;
    }
    co_await shard_.pause_after(outcome.code, std::move(outcome.text));
    co_return shard_end::lost;
}

void shard_sender::tell_sent(std::size_t messages, clock::duration took) {
    relay_event event;
    event.type = relay_event::kind::sent;
    event.shard = shard_.number;
    event.row = shard_.known.last.row;
    event.messages = messages;
    event.took = took;
    shard_.relay.tell(event);
}

// Records the sink in the table before the first row is sent. The next purge may be far off. Until
// then a relay with another sink would send the same rows, because it neither fences this relay nor
// finds its mark. @return whether the shard is still ours.
asio::awaitable<bool> shard_sender::bind_to_sink() {
    auto work = [by = shard_.by, identity = identity_](db::connection& on) {
        return table::bind_to_sink(on, by, identity);
    };
    const auto session = shard_.relay.session();
    ++shard_.status.writes;
    if (co_await session->async_run(std::move(work), db::durability::force))
        co_return false;
    bound_ = true;
    co_return true;
}

// A smaller batch may succeed if the sink's time was too short for this one.
void shard_sender::resize_batches(published::kind outcome) {
    const std::size_t most = shard_.relay.config().batch_rows;
    if (outcome == published::kind::committed)
        batch_rows_ += std::min(batch_rows_, most - batch_rows_);
    else if (outcome != published::kind::refused)
        batch_rows_ = std::max<std::size_t>(batch_rows_ / 2, 1);
}

asio::awaitable<published> shard_sender::publish(std::vector<outgoing>& rows, const mark& after) {
    publishing_ = true;
    std::exception_ptr failed;
    published outcome;
    try {
        outcome = co_await shard_.sink->publish(rows, after);
    } catch (...) {
        failed = std::current_exception();
    }
    publishing_ = false;
    if (failed)
        std::rethrow_exception(failed);
    co_return outcome;
}

void shard_sender::advance(const mark& to, std::size_t messages, std::string place) {
    shard_.known.last = to;
    shard_.known.sink = identity_;
    shard_.known.place = std::move(place);
    sent_at_ = shard_.now();
    if (!std::exchange(purge_wanted_, true))
        purge_at_ = sent_at_ + shard_.relay.config().purge_after;
    unpurged_ += messages;
    mark_unsaved_ = !shard_.sink->keeps_marks();
    shard_.succeed();
    shard_.status.last = to;
    shard_.status.messages += messages;
    shard_.relay.show(shard_.status);
}

bool shard_sender::purge_due() const {
    return mark_unsaved_ || unpurged_ >= shard_.relay.config().purge_rows ||
           (purge_wanted_ && shard_.now() >= purge_at_);
}

// Purges sent rows. @return whether the shard is still ours.
asio::awaitable<bool> shard_sender::purge() {
    const auto& config = shard_.relay.config();
    using std::chrono::microseconds;
    const std::int64_t keep = std::chrono::duration_cast<microseconds>(config.keep).count();
    auto work = [by = shard_.by, now = shard_.known, limit = config.purge_rows, keep](
                    db::connection& on
                ) { return table::purge(on, by, now, wall_now() - keep, limit); };
    const auto session = shard_.relay.session();
    ++shard_.status.writes;
    ++shard_.status.purges;
    const auto [failed, purged] =
        co_await session->async_run(std::move(work), db::durability::lazy, with_code);
    if (failed == errc::superseded)
        co_return false;
    if (failed)
        throw boost::system::system_error(failed);
    MORTISE_CRASH_POINT("relay.purged");
    shard_.status.purged += purged;
    shard_.relay.show(shard_.status);
    mark_unsaved_ = false;
    const bool more = purged == config.purge_rows;
    unpurged_ = 0;
    purge_wanted_ = more || config.keep.count() > 0;
    purge_at_ =
        shard_.now() + (more ? clock::duration(0) : std::max(config.purge_after, config.keep));
    co_return true;
}

// Waits when there is nothing to send. @return how sending ended, if it did.
asio::awaitable<std::optional<shard_end>> shard_sender::be_idle(std::uint32_t newest_layout) {
    shard_.set(shard_status::state::idle);
    if (purge_due()) {
        if (!co_await purge())
            co_return shard_end::superseded;
        co_return std::nullopt;
    }
    if (shard_.number < newest_layout) {
        if (const auto ending = co_await finish())
            co_return ending;
    }
    const auto idle_max = shard_.sink->idle_max();
    clock::duration longest = clock::duration::max();
    if (idle_max.count() > 0) {
        if (shard_.now() - sent_at_ >= idle_max) {
            co_return co_await send_idle_mark();
        }
        longest = sent_at_ + idle_max - shard_.now();
    }
    if (purge_wanted_)
        longest = std::min(longest, std::max(purge_at_ - shard_.now(), clock::duration(0)));
    longest = std::min(longest, parking_.until_look());
    co_await shard_.rest(longest);
    co_return std::nullopt;
}

asio::awaitable<std::optional<shard_end>> shard_sender::finish() {
    auto work = [by = shard_.by, now = shard_.known](db::connection& on) {
        return table::finish(on, by, now);
    };
    const auto session = shard_.relay.session();
    ++shard_.status.writes;
    const auto [failed, done] =
        co_await session->async_run(std::move(work), db::durability::force, with_code);
    if (failed == errc::superseded)
        co_return shard_end::superseded;
    if (failed)
        throw boost::system::system_error(failed);
    if (!done)
        co_return std::nullopt;
    MORTISE_CRASH_POINT("relay.finished");
    shard_.set(shard_status::state::done);
    shard_.relay.drains().emptied(shard_.number, shard_.relay.begin_read());
    co_return shard_end::done;
}

// Sends a mark without messages before the sink forgets the shard.
asio::awaitable<std::optional<shard_end>> shard_sender::send_idle_mark() {
    mark after = shard_.known.last;
    ++after.sequence;
    std::vector<outgoing> none;
    auto outcome = co_await publish(none, after);
    if (outcome.type == published::kind::committed) {
        advance(after, 0, std::move(outcome.place));
        co_return std::nullopt;
    }
    const bool lost = outcome.type == published::kind::lost;
    co_await shard_.pause_after(outcome.code, std::move(outcome.text));
    co_return lost ? std::optional(shard_end::lost) : std::nullopt;
}

}  // namespace mortise::outbox::detail
