// SPDX-License-Identifier: BSL-1.0
// Sends one batch after the other.
#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/outbox/error.hpp"
#include "relay/pending_read.hpp"
#include "relay/relay_core.hpp"
#include "relay/shard_runner.hpp"
#include "table/schema.hpp"
#include "wall_clock.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/deferred.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

namespace mortise::outbox::detail {
namespace {

constexpr auto kept_code = asio::as_tuple(asio::deferred);

}  // namespace

// Sends all batches. While one batch is sent, the next one is read.
asio::awaitable<shard_runner::end> shard_runner::send_all() {
    std::shared_ptr<pending_read> reading;
    while (!core_.stopping() && !leaving_) {
        if (!reading || reading->after != known_.last.row)
            reading = start_read(known_.last.row);
        auto waiting = reading->ready.async_wait();
        co_await std::move(waiting);
        if (reading->failed)
            throw boost::system::system_error(reading->failed);
        const std::uint64_t number = reading->read;
        auto next = std::move(reading->found);
        reading.reset();
        MORTISE_CRASH_POINT("relay.read");
        if (next.newest_layout != layout_seen_) {
            layout_seen_ = next.newest_layout;
            core_.look_for_shards();
        }
        core_.due_at(next.next_due);
        const bool poisoned = !next.corrupt.empty();
        if (poisoned || !next.blocked.empty()) {
            std::vector<table::poison_row> corrupt;
            for (const auto each : next.corrupt)
                corrupt.emplace_back(each, error_code(errc::corrupt_row).message());
            auto parking = poisoned ? park(std::move(corrupt)) : park_blocked(next.blocked);
            if (!co_await std::move(parking))
                co_return end::superseded;
            continue;
        }
        // Look only when nothing else waits: moving the rows behind such messages takes long, and
        // writers wait meanwhile.
        if (look_due() && !next.more) {
            auto looking = look_for_topics();
            if (const auto ending = co_await std::move(looking))
                co_return *ending;
            continue;
        }
        if (next.last_row == 0) {
            core_.emptied(shard_, number);
            auto idling = be_idle(next.newest_layout);
            if (const auto ending = co_await std::move(idling))
                co_return *ending;
            continue;
        }
        set(state::sending);
        if (next.more)
            reading = start_read(next.last_row);
        auto sending = send(next);
        if (const auto ending = co_await std::move(sending))
            co_return *ending;
        if (purge_due()) {
            auto purging = purge();
            if (!co_await std::move(purging))
                co_return end::superseded;
        }
    }
    co_return end::lost;
}

std::shared_ptr<pending_read> shard_runner::start_read(std::int64_t after) {
    news_.reset();  // Rows committed from now on may be too late for this read.
    const auto pending = std::make_shared<pending_read>(core_.strand(), core_.begin_read(), after);
    auto work = [shard = shard_,
                 after,
                 rows = batch_rows_,
                 bytes = core_.config().batch_bytes,
                 log = core_.log()](db::connection& on) {
        auto found = table::read(on, shard, after, rows, bytes);
        // Never send rows that a crash of the host would take back.
        if (!found.rows.empty())
            log->make_durable(on);
        return found;
    };
    core_.session()->async_read(
        std::move(work),
        asio::bind_executor(
            core_.strand(),
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
asio::awaitable<std::optional<shard_runner::end>> shard_runner::send(table::batch& next) {
    if (!bound_) {
        auto binding = bind_to_sink();
        if (!co_await std::move(binding))
            co_return end::superseded;
    }
    mark after = known_.last;
    ++after.sequence;
    after.row = next.last_row;
    after.message = next.last_message;
    const auto begun = now();
    const std::size_t count = next.rows.size();
    auto publishing = publish(next.rows, after);
    auto outcome = co_await std::move(publishing);
    MORTISE_CRASH_POINT("relay.published");
    for (std::string& each : outcome.notices)
        tell(relay_event::kind::noticed, {}, std::move(each));
    if (outcome.type != published::kind::committed && outcome.done > 0) {
        const outgoing& last = next.rows.at(outcome.done - 1);
        mark so_far = after;
        so_far.row = last.row;
        so_far.message = last.message.id;
        advance(so_far, outcome.done, std::string());
        tell_sent(outcome.done, now() - begun);
    }
    resize_batches(outcome.type);
    switch (outcome.type) {
    case published::kind::committed:
        status_.trouble = {};
        status_.text.clear();
        status_.batches += next.rows.empty() ? 0u : 1u;
        advance(after, count, std::move(outcome.place));
        if (count > 0)
            tell_sent(count, now() - begun);
        co_return std::nullopt;
    case published::kind::refused: {
        std::vector<table::poison_row> poison;
        for (auto& each : outcome.poison) {
            std::string reason = each.code.message() + ": " + each.text;
            if (each.away)
                reason += "; sent when the topic is there";
            poison.emplace_back(next.rows.at(each.index).row, std::move(reason), each.away);
        }
        auto parking = park(std::move(poison));
        if (!co_await std::move(parking))
            co_return end::superseded;
        co_return std::nullopt;
    }
    case published::kind::again: {
        auto pausing = pause_after(outcome.code, std::move(outcome.text));
        co_await std::move(pausing);
        co_return std::nullopt;
    }
    case published::kind::lost:
        break;
    }
    auto pausing = pause_after(outcome.code, std::move(outcome.text));
    co_await std::move(pausing);
    co_return end::lost;
}

void shard_runner::tell_sent(std::size_t messages, clock::duration took) {
    relay_event event;
    event.type = relay_event::kind::sent;
    event.shard = shard_;
    event.row = known_.last.row;
    event.messages = messages;
    event.took = took;
    core_.tell(event);
}

// Records the sink in the table before the first row is sent. The next purge may be far off. Until
// then a relay with another sink would send the same rows, because it neither fences this relay nor
// finds its mark. @return whether the shard is still ours.
asio::awaitable<bool> shard_runner::bind_to_sink() {
    auto work = [by = by_, identity = identity_](db::connection& on) {
        return table::bind_to_sink(on, by, identity);
    };
    const auto session = core_.session();
    ++status_.writes;
    auto binding = session->async_run(std::move(work), db::durability::force);
    if (co_await std::move(binding))
        co_return false;
    bound_ = true;
    co_return true;
}

// A smaller batch may succeed if the sink's time was too short for this one.
void shard_runner::resize_batches(published::kind outcome) {
    const std::size_t most = core_.config().batch_rows;
    if (outcome == published::kind::committed)
        batch_rows_ += std::min(batch_rows_, most - batch_rows_);
    else if (outcome != published::kind::refused)
        batch_rows_ = std::max<std::size_t>(batch_rows_ / 2, 1);
}

asio::awaitable<published> shard_runner::publish(std::vector<outgoing>& rows, const mark& after) {
    publishing_ = true;
    std::exception_ptr failed;
    published outcome;
    try {
        auto publishing = sink_->publish(rows, after);
        outcome = co_await std::move(publishing);
    } catch (...) {
        failed = std::current_exception();
    }
    publishing_ = false;
    if (failed)
        std::rethrow_exception(failed);
    co_return outcome;
}

void shard_runner::advance(const mark& to, std::size_t messages, std::string place) {
    known_.last = to;
    known_.sink = identity_;
    known_.place = std::move(place);
    sent_at_ = now();
    if (!std::exchange(purge_wanted_, true))
        purge_at_ = sent_at_ + core_.config().purge_after;
    unpurged_ += messages;
    mark_unsaved_ = !sink_->keeps_marks();
    pauses_.reset();
    status_.last = to;
    status_.messages += messages;
    core_.show(status_);
}

bool shard_runner::purge_due() const {
    return mark_unsaved_ || unpurged_ >= core_.config().purge_rows ||
           (purge_wanted_ && now() >= purge_at_);
}

// Purges sent rows. @return whether the shard is still ours.
asio::awaitable<bool> shard_runner::purge() {
    const auto& config = core_.config();
    using std::chrono::microseconds;
    const std::int64_t keep = std::chrono::duration_cast<microseconds>(config.keep).count();
    auto work = [by = by_, now = known_, limit = config.purge_rows, keep](db::connection& on) {
        return table::purge(on, by, now, wall_now() - keep, limit);
    };
    const auto session = core_.session();
    ++status_.writes;
    ++status_.purges;
    auto purging = session->async_run(std::move(work), db::durability::lazy, kept_code);
    const auto [failed, purged] = co_await std::move(purging);
    if (failed == errc::superseded)
        co_return false;
    if (failed)
        throw boost::system::system_error(failed);
    MORTISE_CRASH_POINT("relay.purged");
    status_.purged += purged;
    core_.show(status_);
    mark_unsaved_ = false;
    const bool more = purged == config.purge_rows;
    unpurged_ = 0;
    purge_wanted_ = more || config.keep.count() > 0;
    purge_at_ = now() + (more ? clock::duration(0) : std::max(config.purge_after, config.keep));
    co_return true;
}

// Waits when there is nothing to send. @return how sending ended, if it did.
asio::awaitable<std::optional<shard_runner::end>> shard_runner::be_idle(std::uint32_t newest_layout
) {
    set(state::idle);
    if (purge_due()) {
        auto purging = purge();
        if (!co_await std::move(purging))
            co_return end::superseded;
        co_return std::nullopt;
    }
    if (shard_ < newest_layout) {
        auto finishing = finish();
        if (const auto ending = co_await std::move(finishing))
            co_return ending;
    }
    const auto idle_max = sink_->idle_max();
    clock::duration longest = clock::duration::max();
    if (idle_max.count() > 0) {
        if (now() - sent_at_ >= idle_max) {
            auto marking = send_idle_mark();
            co_return co_await std::move(marking);
        }
        longest = sent_at_ + idle_max - now();
    }
    if (purge_wanted_)
        longest = std::min(longest, std::max(purge_at_ - now(), clock::duration(0)));
    if (away_)
        longest = std::min(longest, std::max(look_at_ - now(), clock::duration(0)));
    auto resting = rest(longest);
    co_await std::move(resting);
    co_return std::nullopt;
}

asio::awaitable<std::optional<shard_runner::end>> shard_runner::finish() {
    auto work = [by = by_, now = known_](db::connection& on) { return table::finish(on, by, now); };
    const auto session = core_.session();
    ++status_.writes;
    auto finishing = session->async_run(std::move(work), db::durability::force, kept_code);
    const auto [failed, done] = co_await std::move(finishing);
    if (failed == errc::superseded)
        co_return end::superseded;
    if (failed)
        throw boost::system::system_error(failed);
    if (!done)
        co_return std::nullopt;
    MORTISE_CRASH_POINT("relay.finished");
    set(state::done);
    core_.emptied(shard_, core_.begin_read());
    co_return end::done;
}

// Sends a mark without messages before the sink forgets the shard.
asio::awaitable<std::optional<shard_runner::end>> shard_runner::send_idle_mark() {
    mark after = known_.last;
    ++after.sequence;
    std::vector<outgoing> none;
    auto publishing = publish(none, after);
    auto outcome = co_await std::move(publishing);
    if (outcome.type == published::kind::committed) {
        advance(after, 0, std::move(outcome.place));
        co_return std::nullopt;
    }
    const bool lost = outcome.type == published::kind::lost;
    auto pausing = pause_after(outcome.code, std::move(outcome.text));
    co_await std::move(pausing);
    co_return lost ? std::optional(end::lost) : std::nullopt;
}

}  // namespace mortise::outbox::detail
