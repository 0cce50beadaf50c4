// SPDX-License-Identifier: BSL-1.0
#include "client/client_core.hpp"

#include "mortise/coro/assert.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/detail/real_time.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/strand.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace mortise::detail {
namespace {

std::string text_of(std::chrono::milliseconds value) {
    return std::to_string(value.count()) + " ms";
}

// Checks the configuration, also against the limits of the store.
client_config checked(client_config config, const store_traits& traits) {
    if (auto wrong = check_config(config))
        throw *wrong;
    if (config.ttl < traits.ttl_min) {
        throw error(
            errc::ttl_too_short,
            "ttl = " + text_of(config.ttl),
            "the " + std::string(traits.scheme) + " store keeps sessions for " +
                text_of(traits.ttl_min) + " or longer"
        );
    }
    if (config.ttl > traits.ttl_max) {
        throw error(
            errc::ttl_too_long,
            "ttl = " + text_of(config.ttl),
            "the " + std::string(traits.scheme) + " store keeps sessions for " +
                text_of(traits.ttl_max) + " at most"
        );
    }
    return config;
}

// Makes the strand on the plain executor if it is of the usual type: a strand on the erased type
// erases twice, and every step of a connection goes through the strand.
asio::any_io_executor strand_on(const asio::any_io_executor& executor) {
    if (const auto* plain = executor.target<asio::io_context::executor_type>())
        return asio::make_strand(*plain);
    return asio::make_strand(executor);
}

std::shared_ptr<coro::time_source>
time_of(const client_config& config, const asio::any_io_executor& executor) {
    return config.time ? config.time : mortise::detail::make_real_time(executor);
}

}  // namespace

client_core::client_core(
    asio::any_io_executor executor, std::unique_ptr<store> impl, client_config config
)
    : executor_(std::move(executor)),
      strand_(strand_on(executor_)),
      store_(std::move(impl)),
      traits_(store_->traits()),
      config_(checked(std::move(config), traits_)),
      time_(time_of(config_, executor_)),
      timing_(core::session_timing::from(config_)),
      watch_(std::make_shared<session_watch>(time_)),
      home_(std::make_shared<client_home>()),
      table_(
          {home_,
           config_.turn_handoffs_max,
           config_.turn_time_max,
           config_.local_handoff,
           config_.holds_max,
           timing_.stop_margin},
          config_.waiters_max
      ),
      session_(timing_) {
    home_->session = watch_;
    home_->executor = executor_;
}

client_core::~client_core() = default;

void client_core::attach() {
    home_->core = weak_from_this();
    auto& service =
        coro::detail::wait_service::of(asio::query(executor_, asio::execution::context));
    context_ended_ = service.ended();
    store_->attach(*strand_, *this, time_);
    if (!service.link(shared_from_this()))
        shut_down();
}

std::string client_core::explain() const {
    std::string text = store_ ? store_->explain() : std::string();
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(quarantine_left());
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
    if (process_.forked())
        return;
    closed_ = true;
    store_->detach();
    deadlines_.clear();
    const auto waiting = table_.abandon();
    const auto asking = std::exchange(asking_, {});
    const auto idle = std::exchange(idle_claims_, {});
    const auto releases = std::exchange(releases_, {});
    const auto stoppers = std::exchange(stoppers_, {});
    granted_.clear();
    // A strand must not outlive its context, but the user's client may. The store keeps the strand,
    // too.
    store_.reset();
    strand_.reset();
}

void client_core::close() noexcept {
    coro::detail::wait_service::unlink(*this);
    if (process_.forked())
        return;
    grant_no_more();
    if (*context_ended_)
        return;
    asio::dispatch(*strand_, [self = shared_from_this()] { self->close_now(); });
}

// Runs on the thread of the user's call. The table is closed before the leases are lost: a holder
// that lets go because of the loss must not pass the lock on.
void client_core::grant_no_more() {
    queue_work work;
    table_.close(errc::client_stopped, work);
    watch_->stop();
    carry_out(std::move(work));
}

// Cuts the client off from its user and its store. The store frees what is left there when it sees
// the session end.
void client_core::close_now() {
    if (closed_)
        return;
    closed_ = true;
    stopping_ = true;
    timer_signal_.emit(asio::cancellation_type::total);
    deadlines_.clear();
    session_.gone();
    publish();
    queue_work work;
    lose_all(errc::client_stopped, work);
    store_->detach();
    for (const auto& [id, op] : std::exchange(releases_, {}))
        complete_release(*op, errc::outcome_unknown);
    for (const auto& claim : all_asking())
        table_.give_up(*claim, errc::client_stopped, work);
    watchers_.complete_all(errc::client_stopped);
    asking_.clear();
    idle_claims_.clear();
    work.tasks.clear();
    carry_out(std::move(work));
}

void client_core::on_store_event(const store_event& event) noexcept {
    if (closed_)
        return;
    switch (event.what) {
    case store_event::kind::granted:
        pushed(event);
        break;
    case store_event::kind::contended:
        if (const auto found = granted_.find(event.id); found != granted_.end())
            contend(*found->second);
        else if (const auto asked = asking_.find(event.id); asked != asking_.end())
            contend(*asked->second);
        break;
    case store_event::kind::session_lost:
        session_over(errc::lease_lost);
        break;
    case store_event::kind::look_again:
        ask_again();
        look_now();
        break;
    case store_event::kind::unsure:
        ask_again();
        session_.doubt(now(), traits_.quarantine);
        publish();
        break;
    case store_event::kind::changed:
        changed();
        break;
    }
    arm();
}

void client_core::pushed(const store_event& event) {
    const auto found = asking_.find(event.id);
    if (found == asking_.end())
        return;
    const claim_ptr claim = found->second;
    if (claim->ends_by_itself() && claim->fsm.at_store())
        return look_now();  // `hold_max` counts from the grant: only a look tells its age.
    note_grant(*claim, event.slot, event.contended);
    drive(claim, claim->fsm.granted(event.token, surely_held()));
}

void client_core::contend(claim& claim) {
    queue_work work;
    if (table_.contended(claim, work))
        tell({.what = lock_event::kind::contended, .name = claim.lock_name(), .token = claim.token}
        );
    carry_out(std::move(work));
}

// One timer serves everything: it is set for the earliest moment at which something is due.
void client_core::arm() {
    if (closed_)
        return;
    clock::time_point next =
        std::min({deadlines_.next(), table_.next_deadline(), session_.alarm_at()});
    if (!beating_)
        next = std::min(next, session_.beat_at());
    if (!beating_ && has_waiters())
        next = std::min(next, reap_at_);
    if (next == clock::time_point::max() || (armed_ && armed_for_ <= next))
        return;  // An earlier wake-up than needed costs less than setting the timer again.
    if (armed_)
        timer_signal_.emit(asio::cancellation_type::total);
    armed_ = true;
    armed_for_ = next;
    const auto number = ++armed_count_;
    time_->async_wait_until(
        next,
        asio::bind_cancellation_slot(
            timer_signal_.slot(),
            asio::bind_executor(
                *strand_,
                [weak = weak_from_this(), number](error_code) {
                    if (const auto self = weak.lock(); self && number == self->armed_count_)
                        self->on_alarm();
                }
            )
        )
    );
}

void client_core::on_alarm() {
    armed_ = false;
    if (closed_)
        return;
    const auto at = now();
    if (session_.take_alarm(at)) {
        for (const auto& [id, claim] : granted_) {
            for (const auto& held : table_.holders(*claim)) {
                tell(lock_event::kind::warned, *held, errc::lease_expired);
                held->end_waiting(errc::lease_expired);
            }
        }
    }
    queue_work work;
    table_.expire(at, work);
    carry_out(std::move(work));
    // Ends: a task may set new deadlines, but each is in the future and so not due at `at`.
    while (const auto due = deadlines_.take_due(at))
        due();
    if (session_.beat_at() <= at || (has_waiters() && reap_at_ <= at))
        beat_now();
    arm();
}

// Calls of the store throw nothing but `bad_alloc`, which leaves through the context's `run`.
void client_core::spawn(asio::awaitable<void> task) {
    asio::co_spawn(*strand_, std::move(task), [](const std::exception_ptr& failure) {
        if (failure)
            std::rethrow_exception(failure);
    });
}

// The pause between two attempts to undo something: 20 ms, doubled up to a second.
clock::duration client_core::undo_pause(unsigned attempt) noexcept {
    return std::min<clock::duration>(
        std::chrono::milliseconds(20) * (1u << std::min(attempt, 6u)), std::chrono::seconds(1)
    );
}

// Tells the holders of a grant that it is gone. The caller carries out `work` for the waiters.
void client_core::lose(claim& claim, errc why, queue_work& work) {
    for (const auto& held : table_.lost(claim, work)) {
        deadlines_.clear(held->alarm);
        deadlines_.clear(held->timer);
        if (held->lose(why)) {
            counters_.add(&client_stats::lost);
            tell(lock_event::kind::lost, *held, why);
        }
        counters_.add(&client_stats::leases, -1);
    }
}

void client_core::lose_all(errc why, queue_work& work) {
    for (const auto& [id, claim] : std::exchange(granted_, {})) {
        deadlines_.clear(claim->timer);
        deadlines_.clear(claim->alarm);
        lose(*claim, why, work);
    }
}

void client_core::stop(lease_handler handler) {
    if (process_.forked())  // A thread of the parent may have left a mutex locked for ever here.
        return handler.complete(errc::forked);
    grant_no_more();
    if (*context_ended_)
        return handler.complete(errc::outcome_unknown);  // The TTL ends the session at the latest.
    asio::dispatch(*strand_, [self = shared_from_this(), handler = std::move(handler)]() mutable {
        self->spawn(self->run_stop(self, std::move(handler)));
    });
}

// Ends the session by one call of the store, which answers the calls in flight first.
asio::awaitable<void>
client_core::run_stop([[maybe_unused]] std::shared_ptr<client_core> self, lease_handler handler) {
    stoppers_.push_back(std::move(handler));
    if (stoppers_.size() > 1)
        co_return;  // The stop under way answers for all.
    stopping_ = true;
    queue_work work;
    lose_all(errc::client_stopped, work);
    carry_out(std::move(work));
    for (const auto& claim : all_asking())
        stop(claim, errc::client_stopped);
    error_code result;
    const auto give_up = coro::saturating_add(now(), config_.release_budget);
    for (unsigned attempt = 0; !closed_ && (session_.open() || opening_); ++attempt) {
        result = co_await store_->end();
        if (!result || result == errc::session_lost)
            break;
        const auto again = now() + undo_pause(attempt);
        if (again >= give_up)
            break;
        co_await time_->async_wait_until(again);
    }
    if (result == errc::session_lost)
        result = {};
    if (!closed_)
        session_over(errc::client_stopped);
    close_now();
    for (auto& each : std::exchange(stoppers_, {}))
        each.complete(result ? error_code(errc::outcome_unknown) : error_code());
}

}  // namespace mortise::detail
