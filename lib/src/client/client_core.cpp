// SPDX-License-Identifier: BSL-1.0
#include "client/client_core.hpp"

#include "mortise/coro/time_source.hpp"

#include <boost/asio/dispatch.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace mortise::detail {

client_core::client_core(
    asio::any_io_executor executor, std::unique_ptr<store> impl, client_config config
)
    : context(std::move(executor), std::move(impl), std::move(config)),
      locals(*this, context),
      sessions(*this, context),
      questions(*this, context) {}

client_core::~client_core() = default;

void client_core::attach() {
    if (!context.take(shared_from_this(), *this))
        shut_down();
}

std::string client_core::explain() const {
    std::string text = context.explain_store();
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(sessions.quarantine_left());
    if (left == left.zero())
        return text;
    if (!text.empty())
        text += "; ";
    return text +
           "the store is new, was restarted or was flushed: it may have forgotten who holds "
           "what, and grants nothing for another " +
           std::to_string(left.count()) + " ms (the longest TTL of its clients)";
}

// The context is being destroyed: drop every handler, post nothing, call nobody.
void client_core::shut_down() noexcept {
    if (context.forked())
        return;
    context.close();
    context.at_store().detach();
    context.clear_timers();
    const auto waiting = locals.table().abandon();
    std::vector<claims::everything> asking;
    std::vector<releases::releases_by_id> released;
    for (const auto& [number, session] : sessions.all()) {
        asking.push_back(session->claims.take_all());
        released.push_back(session->releases.take_all());
    }
    const auto stoppers = std::exchange(stoppers_, {});
    context.leave();
}

void client_core::close() noexcept {
    coro::detail::wait_service::unlink(*this);
    if (context.forked())
        return;
    grant_no_more();
    if (context.ended())
        return;
    asio::dispatch(context.strand(), [this, kept = context.keep()] { close_now(); });
}

// Runs on the thread of the user's call. The table is closed before the leases are lost: a holder
// that lets go because of the loss must not pass the lock on.
void client_core::grant_no_more() {
    queue_work work;
    locals.table().close(errc::client_stopped, work);
    context.home()->stop();
    locals.carry_out(std::move(work));
}

// Cuts the client off from its user and its store. The store frees what is left there when it sees
// the session end.
void client_core::close_now() {
    if (!context.close())
        return;
    context.begin_stop();
    context.clear_timers();
    queue_work work;
    for (const auto& [number, session] : sessions.all()) {
        session->keeper.end();
        session->claims.lose_all(errc::client_stopped, work);
    }
    context.at_store().detach();
    for (const auto& [number, session] : sessions.all()) {
        for (const auto& [id, op] : session->releases.take_all())
            releases::complete(*op, errc::outcome_unknown);
        for (const auto& claim : session->claims.all_asking())
            locals.table().give_up(*claim, errc::client_stopped, work);
        session->claims.take_all();
    }
    questions.end_watches(errc::client_stopped);
    work.tasks.clear();
    locals.carry_out(std::move(work));
}

void client_core::on_store_event(const store_event& event) noexcept {
    if (context.closed())
        return;
    const auto any_session = [&](auto handles) {
        const auto& all = sessions.all();
        return std::any_of(all.begin(), all.end(), [&](const auto& each) {
            return handles(each.second->claims);
        });
    };
    switch (event.type) {
    case store_event::kind::granted:
        if (any_session([&](claims& of) { return of.granted(event); }))
            sessions.at(event.number).looks.note_told(event.change);
        break;
    case store_event::kind::contended:
        any_session([&](claims& of) { return of.contended(event.id); });
        sessions.at(event.number).looks.note_told(event.change);
        break;
    case store_event::kind::session_lost:
        sessions.at(event.number).keeper.lose(errc::lease_lost);
        break;
    case store_event::kind::look_again:
        if (event.change != 0 && any_session([&](claims& of) { return of.taken_away(event.id); })) {
            sessions.at(event.number).looks.note_told(event.change);
            break;
        }
        if (event.change != 0)
            sessions.at(event.number).looks.note_gone(event.id);
        sessions.at(event.number).claims.ask_again();
        sessions.at(event.number).looks.start();
        break;
    case store_event::kind::unsure:
        sessions.at(event.number).claims.ask_again();
        sessions.at(event.number).keeper.doubt();
        break;
    case store_event::kind::changed:
        questions.changed();
        break;
    }
    arm();
}

// One timer serves everything: it is set for the earliest moment at which something is due.
void client_core::arm() {
    if (context.closed())
        return;
    context.wake_at(
        std::min({context.next_timer(), locals.table().next_deadline(), sessions.next_deadline()}),
        &client_core::on_alarm
    );
}

void client_core::on_alarm() {
    if (context.closed())
        return;
    const auto at = context.now();
    for (const auto& [number, session] : sessions.all()) {
        if (session->keeper.take_alarm(at))
            session->claims.warn_all();
    }
    queue_work work;
    locals.table().expire(at, work);
    locals.carry_out(std::move(work));
    context.run_timers(at);
    // One that is due in half an interval goes with one that is due now: so all sessions come to
    // beat at the same moments, and a store can send their heartbeats together.
    const auto& all = sessions.all();
    const bool any = std::any_of(all.begin(), all.end(), [&](const auto& each) {
        return each.second->keeper.beat_is_due(at);
    });
    const auto soon = any ? at + context.timing().beat_every / 2 : at;
    for (const auto& [number, session] : all)
        session->keeper.beat_if_due(at, soon);
    arm();
}

void client_core::stop(lease_handler handler) {
    if (context.forked())  // A thread of the parent may have left a mutex locked for ever here.
        return handler.complete(errc::forked);
    grant_no_more();
    if (context.ended())
        return handler.complete(errc::outcome_unknown);  // The TTL ends the session at the latest.
    asio::dispatch(
        context.strand(),
        [this, kept = context.keep(), handler = std::move(handler)]() mutable {
            context.spawn(run_stop(std::move(kept), std::move(handler)));
        }
    );
}

// Ends the sessions by one call of the store, which answers the calls in flight first.
asio::awaitable<void>
client_core::run_stop([[maybe_unused]] std::shared_ptr<const void> kept, lease_handler handler) {
    stoppers_.push_back(std::move(handler));
    if (stoppers_.size() > 1)
        co_return;  // The stop under way answers for all.
    context.begin_stop();
    queue_work work;
    for (const auto& [number, session] : sessions.all())
        session->claims.lose_all(errc::client_stopped, work);
    locals.carry_out(std::move(work));
    for (const auto& [number, session] : sessions.all()) {
        for (const auto& claim : session->claims.all_asking())
            session->claims.stop(claim, errc::client_stopped);
    }
    error_code result;
    const auto give_up = coro::saturating_add(context.now(), context.config().release_budget);
    for (unsigned attempt = 0; !context.closed() && sessions.may_exist(); ++attempt) {
        result = co_await context.at_store().end();
        if (!result || result == errc::session_lost)
            break;
        const auto again = context.now() + undo_pause(attempt);
        if (again >= give_up)
            break;
        co_await context.time()->async_wait_until(again);
    }
    if (result == errc::session_lost)
        result = {};
    for (const auto& [number, session] : sessions.all()) {
        if (!context.closed())
            session->keeper.lose(errc::client_stopped);
    }
    close_now();
    for (auto& each : std::exchange(stoppers_, {}))
        each.complete(result ? error_code(errc::outcome_unknown) : error_code());
}

}  // namespace mortise::detail
