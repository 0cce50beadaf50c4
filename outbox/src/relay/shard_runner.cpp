// SPDX-License-Identifier: BSL-1.0
// Takes a shard, opens its sink, and finds where to go on.
#include "relay/shard_runner.hpp"

#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/election.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/outbox/error.hpp"
#include "relay/lineage.hpp"

#include <boost/asio/this_coro.hpp>

#include <exception>
#include <utility>

namespace mortise::outbox::detail {

shard_runner::shard_runner(relay_context& relay, std::uint32_t shard)
    : shard_(relay, shard), sender_(shard_) {}

void shard_runner::stop(bool at_once) {
    if (at_once || !sender_.publishing())
        stop_.emit(asio::cancellation_type::terminal);
    shard_.news.set();
}

std::optional<fencing_token> shard_runner::held() const noexcept {
    if (!serving_ || shard_.leaving || shard_.by.epoch.domain.empty())
        return std::nullopt;
    return shard_.by.epoch;
}

std::string shard_runner::lock_name() const {
    return "mortise.outbox/" + shard_.relay.table_id() + '-' + std::to_string(shard_.number);
}

void shard_runner::leave() {
    shard_.leaving = true;
    shard_.news.set();
}

asio::awaitable<void> shard_runner::run() {
    while (shard_.status.at != state::done && !shard_.relay.stopping()) {
        error_code why;
        std::string text;
        try {
            co_await try_once();
            why =
                std::exchange(shard_.leaving, false) ? error_code() : error_code(errc::superseded);
        } catch (const boost::system::system_error& failed) {
            why = failed.code();
            text = failed.what();
        } catch (const std::exception& failed) {
            why = coro::errc::work_threw;
            text = failed.what();
        } catch (...) {
            why = coro::errc::work_threw;
        }
        if (shard_.status.at == state::done || shard_.relay.stopping())
            break;
        shard_.leaving = false;
        shard_.set(state::standby);
        if (!why)
            continue;  // The shard was passed on; wait for its lock again behind the others.
        co_await shard_.pause_after(why, std::move(text));
    }
}

asio::awaitable<void> shard_runner::try_once() {
    const auto& locks = shard_.relay.config().locks;
    if (!locks) {
        co_await serve(nullptr);
        co_return;
    }
    auto term = [this](const lease& held) { return serve(&held); };
    co_await lead(*locks, lock_name(), election_options(), term);
}

asio::awaitable<table::takeover> shard_runner::take(const lease* held) {
    auto work = [shard = shard_.number,
                 token = held == nullptr ? fencing_token() : held->token()](db::connection& on) {
        return table::take(on, shard, token);
    };
    const auto session = shard_.relay.session();
    ++shard_.status.writes;
    co_return co_await session->async_run(work, db::durability::force);
}

// Works on the shard until the sink or the database fails, or another relay has the shard.
asio::awaitable<void> shard_runner::serve(const lease* held) {
    std::exception_ptr failed;
    try {
        co_await shard_.relay.restore_log();
        auto mine = co_await take(held);
        shard_.by = mine.by;
        shard_.known = std::move(mine.known);
        refused_ = mine.refused;
        serving_ = true;
        shard_.status.last = shard_.known.last;
        shard_.tell(relay_event::kind::taken);
        MORTISE_CRASH_POINT("relay.taken");
        if (mine.done) {
            shard_.set(state::done);
            shard_.relay.drains().emptied(shard_.number, shard_.relay.begin_read());
        } else if (mine.others_first) {
            co_await await_earlier_shards();
        }
        while (shard_.status.at != state::done && !shard_.relay.stopping() && !shard_.leaving) {
            if (co_await begin()) {
                if (co_await sender_.send_all() == shard_end::superseded)
                    break;
                co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
                co_await close_sink();
            }
            co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
            if (held != nullptr && !held->held())
                break;  // A signal during `open` or `close` was reset: ask the lease.
        }
    } catch (...) {
        failed = std::current_exception();
    }
    serving_ = false;
    shard_.tell(
        shard_.status.at == state::done ? relay_event::kind::done : relay_event::kind::left
    );
    // After a cancellation signal nothing can be awaited until the signal is reset. The caller
    // checks whether the relay stops, or rethrows the failure.
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await close_sink();
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    if (failed)
        std::rethrow_exception(failed);
}

asio::awaitable<void> shard_runner::close_sink() {
    if ((shard_.relay.stopping() || shard_.leaving) && sender_.purge_wanted()) {
        co_await save_mark();
    }
    co_await shard_.sink->close();
}

// Writes the mark to the table for people who look there. The sink has it already.
asio::awaitable<void> shard_runner::save_mark() {
    try {
        co_await sender_.purge();
    } catch (const boost::system::system_error& wrong) {
        shard_.fail(wrong.code(), wrong.what());
    }
}

asio::awaitable<void> shard_runner::await_earlier_shards() {
    shard_.set(state::waiting);
    for (;;) {
        shard_.news.reset();
        const auto work = [shard = shard_.number](db::connection& on) {
            return table::others_first(on, shard);
        };
        const auto session = shard_.relay.session();
        if (!co_await session->async_read(work) || shard_.leaving)
            co_return;
        co_await shard_.rest(clock::duration::max());
    }
}

// Opens the sink and finds where to go on. @return whether there is such a place.
asio::awaitable<bool> shard_runner::begin() {
    shard_.set(state::opening);
    shard_name name;
    name.table = shard_.relay.table_id();
    name.shard = shard_.number;
    name.first_sought = shard_.known.place;
    auto opened = co_await shard_.sink->open(name);
    if (!opened) {
        const error_code why = opened.error();
        co_await shard_.pause_after(why, shard_.sink->trouble());
        co_return false;
    }
    MORTISE_CRASH_POINT("relay.opened");
    table::mark_place seen;
    if (opened->last) {
        seen = co_await find_mark(opened->last->row);
    }
    auto found = judge(shard_.known, *opened, seen);
    if (found.refused) {
        co_await await_operator(found.refused, std::move(found.text), opened->last);
        co_await shard_.sink->close();
        co_return false;
    }
    if (refused_) {
        co_await accept();
    }
    if (found.mark_lost)
        shard_.tell(relay_event::kind::mark_lost, errc::mark_lost, opened->identity);
    shard_.known.last = found.start;
    sender_.begin(*opened);
    shard_.status.last = shard_.known.last;
    shard_.relay.show(shard_.status);
    shard_.tell(relay_event::kind::opened);
    co_return true;
}

// Withdraws an earlier refusal: its cause is gone, so no operator needs to decide.
asio::awaitable<void> shard_runner::accept() {
    auto work = [by = shard_.by](db::connection& on) { return table::accept(on, by); };
    const auto session = shard_.relay.session();
    ++shard_.status.writes;
    if (co_await session->async_run(std::move(work), db::durability::force))
        throw boost::system::system_error(errc::superseded);
    refused_ = false;
}

asio::awaitable<table::mark_place> shard_runner::find_mark(std::int64_t row) {
    const auto work = [shard = shard_.number, row](db::connection& on) {
        return table::find_mark(on, shard, row);
    };
    const auto session = shard_.relay.session();
    co_return co_await session->async_read(work);
}

// Waits until `rebase` has changed the generation of the shard.
asio::awaitable<void>
shard_runner::await_operator(error_code why, std::string text, std::optional<mark> seen) {
    shard_.status.trouble = why;
    shard_.status.text = text;
    refused_ = true;
    sender_.forget_purge();  // Our mark must not overwrite the operator's decision.
    shard_.set(state::refused);
    shard_.tell(relay_event::kind::refused, why, text);
    auto note = [by = shard_.by, reason = why.message() + ": " + text, seen](db::connection& on) {
        return table::refuse(on, by, reason, seen);
    };
    const auto session = shard_.relay.session();
    ++shard_.status.writes;
    if (co_await session->async_run(std::move(note), db::durability::force))
        throw boost::system::system_error(errc::superseded);
    for (;;) {
        shard_.news.reset();
        const auto work = [shard = shard_.number](db::connection& on) {
            return table::known_of(on, shard);
        };
        auto known = co_await session->async_read(work);
        if (known.last.generation != shard_.known.last.generation) {
            shard_.known = std::move(known);
            refused_ = false;
            shard_.status.trouble = {};
            shard_.status.text.clear();
            co_return;
        }
        shard_.relay.drains().stuck(shard_.number, why);
        if (shard_.leaving)
            co_return;
        co_await shard_.rest(clock::duration::max());
    }
}

}  // namespace mortise::outbox::detail
