// SPDX-License-Identifier: BSL-1.0
// Takes a shard, opens its sink, and finds where to go on.
#include "relay/shard_runner.hpp"

#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/coro/sleep.hpp"
#include "mortise/election.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/outbox/error.hpp"
#include "relay/lineage.hpp"
#include "relay/relay_core.hpp"

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <utility>

namespace mortise::outbox::detail {
namespace {

coro::backoff_options pauses_of(const relay_config& config) {
    coro::backoff_options options;
    options.first = config.retry_first;
    options.max = config.retry_max;
    return options;
}

}  // namespace

shard_runner::shard_runner(relay_core& core, std::uint32_t shard)
    : core_(core),
      shard_(shard),
      sink_(core.config().sink(core.strand(), shard)),
      news_(core.strand()),
      pauses_(pauses_of(core.config()), core.draw_seed()),
      batch_rows_(core.config().batch_rows) {
    if (!sink_)
        throw error(mortise::errc::bad_config, "sink", "have the factory make one for each shard");
    status_.shard = shard;
    core_.show(status_);
}

clock::time_point shard_runner::now() const {
    return core_.time().now();
}

void shard_runner::stop(bool at_once) {
    if (at_once || !publishing_)
        stop_.emit(asio::cancellation_type::terminal);
    news_.set();
}

std::optional<fencing_token> shard_runner::held() const noexcept {
    if (!serving_ || leaving_ || by_.epoch.domain.empty())
        return std::nullopt;
    return by_.epoch;
}

std::string shard_runner::lock_name() const {
    return "mortise.outbox/" + core_.table_id() + '-' + std::to_string(shard_);
}

void shard_runner::leave() {
    leaving_ = true;
    news_.set();
}

void shard_runner::set(state now) {
    if (std::exchange(status_.at, now) != now)
        core_.show(status_);
}

void shard_runner::tell(relay_event::kind kind, error_code why, std::string text) {
    relay_event event;
    event.type = kind;
    event.shard = shard_;
    event.row = known_.last.row;
    event.code = why;
    event.text = std::move(text);
    core_.tell(event);
}

void shard_runner::fail(error_code why, std::string text) {
    status_.trouble = why;
    status_.text = text.empty() ? why.message() : text;
    core_.show(status_);
    tell(relay_event::kind::failed, why, std::move(text));
}

asio::awaitable<void> shard_runner::run() {
    while (status_.at != state::done && !core_.stopping()) {
        error_code why;
        std::string text;
        try {
            auto one = try_once();
            co_await std::move(one);
            why = std::exchange(leaving_, false) ? error_code() : error_code(errc::superseded);
        } catch (const boost::system::system_error& failed) {
            why = failed.code();
            text = failed.what();
        } catch (const std::exception& failed) {
            why = coro::errc::work_threw;
            text = failed.what();
        } catch (...) {
            why = coro::errc::work_threw;
        }
        if (status_.at == state::done || core_.stopping())
            break;
        leaving_ = false;
        set(state::standby);
        if (!why)
            continue;  // The shard was passed on; wait for its lock again behind the others.
        auto pausing = pause_after(why, std::move(text));
        co_await std::move(pausing);
    }
}

asio::awaitable<void> shard_runner::try_once() {
    const auto& locks = core_.config().locks;
    if (!locks) {
        auto serving = serve(nullptr);
        co_await std::move(serving);
        co_return;
    }
    auto term = [this](const lease& held) { return serve(&held); };
    auto leading = lead(*locks, lock_name(), election_options(), term);
    co_await std::move(leading);
}

asio::awaitable<table::takeover> shard_runner::take(const lease* held) {
    auto work = [shard = shard_,
                 token = held == nullptr ? fencing_token() : held->token()](db::connection& on) {
        return table::take(on, shard, token);
    };
    const auto session = core_.session();
    ++status_.writes;
    auto taking = session->async_run(work, db::durability::force);
    co_return co_await std::move(taking);
}

// Works on the shard until the sink or the database fails, or another relay has the shard.
asio::awaitable<void> shard_runner::serve(const lease* held) {
    std::exception_ptr failed;
    try {
        auto restoring = core_.restore_log();
        co_await std::move(restoring);
        auto taking = take(held);
        auto mine = co_await std::move(taking);
        by_ = mine.by;
        known_ = std::move(mine.known);
        refused_ = mine.refused;
        serving_ = true;
        status_.last = known_.last;
        tell(relay_event::kind::taken);
        MORTISE_CRASH_POINT("relay.taken");
        if (mine.done) {
            set(state::done);
            core_.emptied(shard_, core_.begin_read());
        } else if (mine.others_first) {
            auto waiting = await_earlier_shards();
            co_await std::move(waiting);
        }
        while (status_.at != state::done && !core_.stopping() && !leaving_) {
            auto beginning = begin();
            if (co_await std::move(beginning)) {
                auto sending = send_all();
                if (co_await std::move(sending) == end::superseded)
                    break;
                co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
                auto closing = close_sink();
                co_await std::move(closing);
            }
            co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
            if (held != nullptr && !held->held())
                break;  // A signal during `open` or `close` was reset: ask the lease.
        }
    } catch (...) {
        failed = std::current_exception();
    }
    serving_ = false;
    tell(status_.at == state::done ? relay_event::kind::done : relay_event::kind::left);
    // After a cancellation signal nothing can be awaited until the signal is reset. The caller
    // checks whether the relay stops, or rethrows the failure.
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    auto closing = close_sink();
    co_await std::move(closing);
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    if (failed)
        std::rethrow_exception(failed);
}

asio::awaitable<void> shard_runner::close_sink() {
    if ((core_.stopping() || leaving_) && purge_wanted_) {
        auto saving = save_mark();
        co_await std::move(saving);
    }
    auto closing = sink_->close();
    co_await std::move(closing);
}

// Writes the mark to the table for people who look there. The sink has it already.
asio::awaitable<void> shard_runner::save_mark() {
    try {
        auto purging = purge();
        co_await std::move(purging);
    } catch (const boost::system::system_error& wrong) {
        fail(wrong.code(), wrong.what());
    }
}

asio::awaitable<void> shard_runner::await_earlier_shards() {
    set(state::waiting);
    for (;;) {
        news_.reset();
        const auto work = [shard = shard_](db::connection& on) {
            return table::others_first(on, shard);
        };
        const auto session = core_.session();
        auto reading = session->async_read(work);
        if (!co_await std::move(reading) || leaving_)
            co_return;
        auto resting = rest(clock::duration::max());
        co_await std::move(resting);
    }
}

// Opens the sink and finds where to go on. @return whether there is such a place.
asio::awaitable<bool> shard_runner::begin() {
    set(state::opening);
    shard_name name;
    name.table = core_.table_id();
    name.shard = shard_;
    name.first_sought = known_.place;
    auto opening_it = sink_->open(name);
    auto opened = co_await std::move(opening_it);
    if (!opened) {
        const error_code why = opened.error();
        auto pausing = pause_after(why, sink_->trouble());
        co_await std::move(pausing);
        co_return false;
    }
    MORTISE_CRASH_POINT("relay.opened");
    table::mark_place seen;
    if (opened->last) {
        auto asking = find_mark(opened->last->row);
        seen = co_await std::move(asking);
    }
    auto found = relay_detail::judge(known_, *opened, seen);
    if (found.refused) {
        auto waiting = await_operator(found.refused, std::move(found.text), opened->last);
        co_await std::move(waiting);
        auto closing = sink_->close();
        co_await std::move(closing);
        co_return false;
    }
    if (refused_) {
        auto accepting = accept();
        co_await std::move(accepting);
    }
    if (found.mark_lost)
        tell(relay_event::kind::mark_lost, errc::mark_lost, opened->identity);
    known_.last = found.start;
    // Bind a shard only to a sink that has something of it. A sink that was opened and received
    // nothing may be a mistake in the configuration, and must not exclude the right one.
    identity_ = opened->identity;
    bound_ = known_.sink == identity_;
    if (opened->last)
        known_.sink = identity_;
    status_.last = known_.last;
    sent_at_ = now();
    away_ = true;  // An earlier relay may have parked rows for a missing topic.
    look_at_ = sent_at_;
    // The mark may cover more rows than this relay has sent.
    purge_wanted_ = true;
    purge_at_ = now() + core_.config().purge_after;
    core_.show(status_);
    tell(relay_event::kind::opened);
    co_return true;
}

// Withdraws an earlier refusal: its cause is gone, so no operator needs to decide.
asio::awaitable<void> shard_runner::accept() {
    auto work = [by = by_](db::connection& on) { return table::accept(on, by); };
    const auto session = core_.session();
    ++status_.writes;
    auto accepting = session->async_run(std::move(work), db::durability::force);
    if (co_await std::move(accepting))
        throw boost::system::system_error(errc::superseded);
    refused_ = false;
}

asio::awaitable<table::mark_place> shard_runner::find_mark(std::int64_t row) {
    const auto work = [shard = shard_, row](db::connection& on) {
        return table::find_mark(on, shard, row);
    };
    const auto session = core_.session();
    auto reading = session->async_read(work);
    co_return co_await std::move(reading);
}

// Waits until `rebase` has changed the generation of the shard.
asio::awaitable<void>
shard_runner::await_operator(error_code why, std::string text, std::optional<mark> seen) {
    status_.trouble = why;
    status_.text = text;
    refused_ = true;
    purge_wanted_ = false;  // Our mark must not overwrite the operator's decision.
    set(state::refused);
    tell(relay_event::kind::refused, why, text);
    auto note = [by = by_, reason = why.message() + ": " + text, seen](db::connection& on) {
        return table::refuse(on, by, reason, seen);
    };
    const auto session = core_.session();
    ++status_.writes;
    auto noting = session->async_run(std::move(note), db::durability::force);
    if (co_await std::move(noting))
        throw boost::system::system_error(errc::superseded);
    for (;;) {
        news_.reset();
        const auto work = [shard = shard_](db::connection& on) {
            return table::known_of(on, shard);
        };
        auto reading = session->async_read(work);
        auto known = co_await std::move(reading);
        if (known.last.generation != known_.last.generation) {
            known_ = std::move(known);
            refused_ = false;
            status_.trouble = {};
            status_.text.clear();
            co_return;
        }
        core_.stuck(shard_, why);
        if (leaving_)
            co_return;
        auto resting = rest(clock::duration::max());
        co_await std::move(resting);
    }
}

asio::awaitable<void> shard_runner::rest(clock::duration longest) {
    coro::detail::alarm up;  // Destroyed with this wait, also when the wait is cancelled.
    if (longest != clock::duration::max())
        up.set(core_.time(), core_.strand(), now() + longest, [this] { news_.set(); });
    auto waiting = news_.async_wait();
    co_await std::move(waiting);
}

asio::awaitable<void> shard_runner::pause_after(error_code why, std::string text) {
    fail(why, std::move(text));
    if (core_.stopping())
        co_return;  // After a stop, a signal may no longer arrive to end the sleep.
    auto sleeping = coro::sleep_for(core_.time(), pauses_.next());
    co_await std::move(sleeping);
}

}  // namespace mortise::outbox::detail
