// SPDX-License-Identifier: BSL-1.0
#include "store/sqlite/sqlite_shell.hpp"

#include "mortise/coro/detail/with_code.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <string>

namespace mortise::store_detail {

using sqlite_detail::whereabouts;

namespace {

constexpr std::size_t hints_max = 4096;

coro::worker_config worker_named(std::string name, std::chrono::microseconds busy_poll_max = {}) {
    coro::worker_config config;
    config.busy_poll_max = busy_poll_max;
    config.name = std::move(name);
    config.queue_max = 1u << 20;  // The client bounds what it asks for: this is only a fuse.
    return config;
}

// Runs on the heartbeat's thread.
beat_report beat_once(
    own_session& session,
    coro::time_source& time,
    const std::vector<neighbour>& watched,
    clock::time_point quarantine_until
) {
    beat_report report;
    report.value.sent = time.now();
    const bool extended = session.extend(report.value.sent);
    // Looked at after the write: if somebody has replaced the store in between, whoever uses the
    // new one does not know of the session, so it cannot go on.
    const auto where = session.where();
    if (where != whereabouts::same) {
        report.code = where == whereabouts::other ? errc::store_replaced : errc::store_unavailable;
        return report;
    }
    if (!extended) {
        report.code = errc::session_lost;
        return report;
    }
    const auto at = time.now();
    const slot_view seen = session.view();
    report.value.changes = seen.changes;
    report.value.grants = seen.grants;
    report.value.requests = seen.requests;
    const slot_scan others = session.scan(at);
    report.value.next_deadline = others.next_deadline;
    report.to_reap = others.to_reap;
    report.stirred = session.slots().stirred(session.self().slot);
    if (quarantine_until > at) {
        const clock::duration left = quarantine_until - at;
        report.value.quarantine = left;
        report.value.next_deadline = std::min(left, others.next_deadline.value_or(left));
    } else if (quarantine_until != clock::time_point()) {
        report.to_reap = true;  // Those who wait are due.
    }
    report.neighbours = plan_neighbours(session, watched);
    return report;
}

}  // namespace

sqlite_shell::sqlite_shell(
    asio::any_io_executor strand,
    store_events& events,
    std::shared_ptr<coro::time_source> time,
    const sqlite_store_config& config
)
    : strand_(std::move(strand)),
      busy_poll_(strand_, config.busy_poll_max),
      events_(&events),
      time_(std::move(time)),
      state_(std::make_shared<sqlite_state>(config, time_)),
      batch_(std::make_shared<write_batch>(state_)),
      writer_(
          strand_,
          worker_named("mortise-write", config.busy_poll_max),
          write_batch::together_max,
          batch_
      ),
      beater_(strand_, worker_named("mortise-beat")) {}

void sqlite_shell::detach() noexcept {
    events_ = nullptr;
    state_->abandon();
    close_mailbox();
    if (const auto turn = std::exchange(turn_, {}).lock())
        turn->finish(asio::error::operation_aborted);
    writer_.stop();
    beater_.stop();
}

void sqlite_shell::close_mailbox() noexcept {
    if (mailbox_)
        mailbox_->close();
    mailbox_.reset();
}

// Collects the operations that are asked for together, so that the writer's thread is woken once
// for all. Until then the job belongs to the strand: it holds its waiters, and must not be held by
// what they hold.
void sqlite_shell::join_turn(std::unique_ptr<pending_operation> operation) {
    auto turn = turn_.lock();
    if (!turn) {
        turn = std::make_shared<turn_job>(strand_, batch_);
        turn_ = turn;
        asio::post(strand_, [weak = weak_from_this(), turn] {
            const auto self = weak.lock();
            if (self && self->turn_.lock() == turn)
                self->end_turn();
        });
    }
    turn->add(std::move(operation));
}

void sqlite_shell::end_turn() {
    if (auto turn = std::exchange(turn_, {}).lock())
        writer_.submit(std::move(turn));
}

asio::awaitable<result<resumed>> sqlite_shell::resume(session_start start) {
    auto job = [state = state_, start] { return state->resume(start); };
    auto out = co_await ask<opened_session>(std::move(job));
    if (out.code)
        co_return out.code;
    incarnation_ = out.value.reply.incarnation;
    domain_ = out.value.reply.domain;
    if (out.value.is_new && events_) {
        close_mailbox();
        watching_ = false;
        mailbox_ = std::make_shared<mailbox>(
            strand_, static_cast<mailbox_events&>(*this), out.value.session->key()
        );
        mailbox_->open(std::move(out.value.sockets));
        look_round();
    }
    co_return out.value.reply;
}

asio::awaitable<error_code> sqlite_shell::end() {
    auto job = [state = state_] { return state->end(); };
    const auto out = co_await ask<nothing>(std::move(job));
    if (!out.code)
        close_mailbox();
    co_return out.code;
}

asio::awaitable<result<heartbeat>> sqlite_shell::beat() {
    const auto session = state_->session();
    if (!session)
        co_return error_code(errc::session_lost);
    auto watched = mailbox_ ? mailbox_->watched() : std::vector<neighbour>();
    auto job =
        [session, time = time_, watched = std::move(watched), until = state_->quarantine_until()] {
            return beat_once(*session, *time, watched, until);
        };
    auto running = beater_.async_run(std::move(job), coro::detail::with_code);
    auto reply = co_await std::move(running);
    if (std::get<0>(reply))
        co_return error_code(errc::store_unavailable);
    beat_report report = std::move(std::get<1>(reply));
    if (report.code == errc::store_replaced)
        give_up(report.code);
    if (report.code)
        co_return report.code;
    report.value.incarnation = incarnation_;
    if (mailbox_)
        mailbox_->resume_accepting();
    reap_failed_ = false;
    take(std::move(report.neighbours));
    if (report.to_reap)
        reap({});
    if (report.stirred && watching_)
        look_stirred();
    co_return report.value;
}

// Ends the session for a reason that the client is told; the next session may find a new store.
void sqlite_shell::give_up(error_code why) {
    state_->remember(error(why, state_->path(), "see who moved the store or its side folder away"));
    state_->forget_session();
    close_mailbox();
    watching_ = false;
    notice lost;
    lost.kind = store_event::kind::session_lost;
    lost.why = why;
    tell_later({lost});
}

void sqlite_shell::on_hints(const std::vector<hint>& hints) {
    busy_poll_.rest();
    const auto session = state_->session();
    for (const auto& each : hints) {
        const auto noted = session ? session->find_grant(each.request) : std::nullopt;
        if (each.type == hint::kind::neighbours)
            look_round();
        else if (each.type == hint::kind::stirred)
            hear_stirred();
        else if (each.type == hint::kind::granted && noted)
            tell_noted(store_event::kind::granted, each.request, *noted);
        else if (each.type == hint::kind::contended && noted && noted->contended)
            tell_noted(store_event::kind::contended, each.request, *noted);
        else if (hints_.size() < hints_max)
            hints_.push_back(each);
        else
            hints_.back() = {hint::kind::changed, each.session, 0};
    }
    verify_hints();
}

// Tells the client without the database: the slot says what the row says, and this costs no change
// of threads.
void sqlite_shell::tell_noted(store_event::kind kind, request_id id, const noted_grant& noted) {
    notice event;
    event.kind = kind;
    event.id = id;
    event.token = noted.token;
    event.slot = noted.slot;
    event.contended = noted.contended;
    tell({event});
}

template <class Job, class Then>
void sqlite_shell::run_beside(Job job, Then then) {
    auto done = [weak = weak_from_this(), then](error_code failed, const auto& out) {
        if (const auto self = weak.lock())
            then(*self, failed, out);
    };
    run_alone(std::move(job), asio::bind_executor(strand_, std::move(done)));
}

asio::awaitable<error_code> sqlite_shell::watch() {
    // Set at once: a change from here on may be told before the answer is there.
    watching_ = true;
    auto job = [state = state_] { return state->watch(); };
    const auto out = co_await ask<nothing>(std::move(job));
    co_return out.code;
}

// Tells of a change if the slot is no longer armed: the sender of the hint disarms it first, after
// its commit.
void sqlite_shell::hear_stirred() {
    const auto session = state_->session();
    if (!watching_ || !session || session->slots().armed(session->self().slot))
        return;
    notice changed;
    changed.kind = store_event::kind::changed;
    tell({changed});
}

// Asks under the lock whether a lock has changed: the hint was lost, or somebody is changing a lock
// just now, or died while doing so.
void sqlite_shell::look_stirred() {
    auto job = [state = state_] { return state->look_stirred(); };
    run_beside(std::move(job), [](sqlite_shell& self, error_code, const auto& out) {
        self.tell(out.notices);
    });
}

// Verifies all hints together that came during the last verification.
void sqlite_shell::verify_hints() {
    if (verifying_ || hints_.empty() || !events_)
        return;
    verifying_ = true;
    auto job = [state = state_, hints = std::exchange(hints_, {})] { return state->verify(hints); };
    run_beside(std::move(job), [](sqlite_shell& self, error_code, const auto& out) {
        self.verifying_ = false;
        self.tell(out.notices);
        self.verify_hints();
    });
}

void sqlite_shell::on_silence(const neighbour& peer) {
    reap({peer});
}

void sqlite_shell::reap(const std::vector<neighbour>& proved_dead) {
    dead_.insert(dead_.end(), proved_dead.begin(), proved_dead.end());
    reap_again_ = true;
    start_reaping();
}

void sqlite_shell::start_reaping() {
    if (reaping_ || !reap_again_ || !events_)
        return;
    reaping_ = true;
    reap_again_ = false;
    auto job = [state = state_, dead = std::exchange(dead_, {})] { return state->reap(dead); };
    run_beside(std::move(job), [](sqlite_shell& self, error_code failed, const auto& out) {
        self.reaping_ = false;
        self.reap_failed_ = failed || out.code;
        self.reap_again_ = self.reap_again_ || (!self.reap_failed_ && out.value);
        self.tell(out.notices);
        if (!self.reap_again_)
            self.look_round();
        self.start_reaping();
    });
}

// Finds out whom to watch, after somebody came or went.
void sqlite_shell::look_round() {
    const auto session = state_->session();
    if (!session || !mailbox_ || !events_)
        return;
    if (looking_round_) {
        look_round_again_ = true;
        return;
    }
    looking_round_ = true;
    look_round_again_ = false;
    auto job = [session, watched = mailbox_->watched()] {
        return plan_neighbours(*session, watched);
    };
    beater_.async_run(
        std::move(job),
        asio::bind_executor(
            strand_,
            [weak = weak_from_this()](error_code, neighbour_plan plan) {
                const auto self = weak.lock();
                if (!self)
                    return;
                self->looking_round_ = false;
                self->take(std::move(plan));
                if (self->look_round_again_)
                    self->look_round();
            }
        )
    );
}

void sqlite_shell::take(neighbour_plan plan) {
    if (!mailbox_)
        return;
    // What failed is tried again by the next heartbeat, not by each look: a failure itself causes
    // the next look.
    if ((!plan.dead.empty() || plan.unburied) && !reap_failed_)
        reap(plan.dead);
    mailbox_->apply(std::move(plan));
}

// Posted, because the client must not be told from inside a call of the port.
void sqlite_shell::tell_later(std::vector<notice> notices) {
    if (notices.empty() || !events_)
        return;
    asio::post(strand_, [weak = weak_from_this(), notices = std::move(notices)] {
        if (const auto self = weak.lock())
            self->tell(notices);
    });
}

void sqlite_shell::tell(const std::vector<notice>& notices) {
    for (const auto& each : notices) {
        if (!events_)
            return;
        store_event event;
        event.type = each.kind;
        if (each.kind == store_event::kind::changed && !std::exchange(watching_, false))
            continue;
        event.id = each.id;
        if (each.token != 0)
            event.token = {each.token, domain_.of_slot(each.slot)};
        event.slot = each.slot;
        event.contended = each.contended;
        event.why = each.why;
        events_->on_store_event(event);
    }
}

}  // namespace mortise::store_detail
