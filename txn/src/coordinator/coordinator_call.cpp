// SPDX-License-Identifier: BSL-1.0
// Calls of participants: when they are made, repeated, and given up.
#include "coordinator/coordinator_core.hpp"
#include "mortise/coro/assert.hpp"
#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/coro/time_source.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <utility>

namespace mortise::txn::detail {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t text_max = 1'024;  // of what a participant says, in the log

// The call lives as long as its participant works on it.
asio::awaitable<result<reply>> carry(std::shared_ptr<participant> whom, call what) {
    auto doing = whom->carry_out(std::move(what));
    co_return co_await std::move(doing);
}

// An answer that will be the same however often it is asked for.
bool is_final(error_code said) noexcept {
    return said == errc::late_try || said == errc::unknown_branch || said == errc::conflict ||
           said == errc::stale_epoch || said == errc::participant_ahead ||
           said == mortise::errc::stale_token || said == mortise::errc::foreign_domain ||
           said == mortise::errc::no_token || said == errc::unknown_participant;
}

// Nothing is confirmed or cancelled without the proof that this was decided.
operation finishing_by(const log::durable_decision& proof) noexcept {
    return proof.confirm() ? operation::confirm : operation::cancel;
}

operation operation_for(const running& what, branch_number which) {
    if (!what.fsm.is_finishing(which))
        return operation::try_;
    MORTISE_ASSERT(what.proof && what.proof->gid() == what.which);
    return finishing_by(*what.proof);
}

// What a participant throws that knows of codes; the rest says only that something failed.
error_code code_of(const std::exception_ptr& thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (const boost::system::system_error& failed) {
        return failed.code() ? failed.code() : error_code(errc::call_failed);
    } catch (...) {
        return errc::call_failed;
    }
}

call_view view_of(const result<reply>& got) {
    call_view made;
    if (!got) {
        made.came = call_view::verdict::failed;
        made.text = got.error().message();
    } else if (got->what != reply::verdict::done) {
        made.came = got->what == reply::verdict::refused ? call_view::verdict::refused
                                                         : call_view::verdict::again;
        made.text = got->payload.substr(0, text_max);
    }
    return made;
}

}  // namespace

void coordinator_core::ask_participant(const running_ptr& what, branch_number which) {
    if (stopping_)
        return;  // what is decided is finished by whoever comes next
    const auto found = lanes_.find(what->what->branches[which - 1].participant);
    if (found == lanes_.end())
        return came(what, which, error_code(errc::unknown_participant));
    what->branches[which - 1].queued = true;
    if (found->second.judge.broken())
        is_slow(*what);
    found->second.queue.push_back({what, which});
    pump(found->second);
}

void coordinator_core::pump(client_lane& at) {
    while (!at.queue.empty()) {
        const auto head = at.queue.front();
        auto& branch = head.what->branches[head.branch - 1];
        if (gone(*head.what) || !branch.queued) {
            at.queue.pop_front();
            continue;
        }
        if (!at.judge.may_call(now())) {
            const auto next = at.judge.next(now());
            if (!at.timer)
                deadlines_.set(at.timer, next, [this, &at] {
                    at.timer.reset();
                    pump(at);
                });
            return arm();
        }
        at.queue.pop_front();
        branch.queued = false;
        make_call(at, head.what, head.branch);
    }
}

call coordinator_core::call_for(const running& what, branch_number which) const {
    const auto& plan = *what.what;
    call made;
    made.what = operation_for(what, which);
    made.gid = what.which;
    made.branch = which;
    made.attempt = what.branches[which - 1].attempts;
    made.epoch = what.home->term->epoch;
    made.term = what.term;
    made.participant = plan.branches[which - 1].participant;
    made.payload = plan.branches[which - 1].payload;
    made.locks = plan.locks;
    made.time_left =
        std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(what.until - now()));
    made.ended_below = ended_below_;
    made.traceparent = plan.traceparent;
    return made;
}

void coordinator_core::make_call(client_lane& at, const running_ptr& what, branch_number which) {
    auto& branch = what->branches[which - 1];
    ++branch.attempts;
    branch.flight = ++flights_;
    branch.sent = now();
    branch.stop = std::make_shared<call_stop>(seat_.executor());
    at.judge.begin();
    ++count_.calls;
    const auto flight = branch.flight;
    deadlines_.set(
        branch.timer,
        coro::saturating_add(branch.sent, config_.call_max),
        [this, what, which, flight] {
            if (const auto& late = what->branches[which - 1].stop)
                late->emit();
            called(what, which, flight, nullptr, error_code(errc::call_too_late));
        }
    );
    asio::co_spawn(
        branch.stop->strand(),
        carry(at.whom, call_for(*what, which)),
        asio::bind_cancellation_slot(
            branch.stop->slot(),
            asio::bind_executor(
                seat_.strand(),
                [self = shared_from_this(), what, which, flight, kept = branch.stop](
                    const std::exception_ptr& thrown, result<reply> got
                ) { self->called(what, which, flight, thrown, std::move(got)); }
            )
        )
    );
    arm();
}

void coordinator_core::called(
    const running_ptr& what,
    branch_number which,
    std::uint64_t flight,
    const std::exception_ptr& thrown,
    result<reply> got
) {
    auto& branch = what->branches[which - 1];
    if (closed_ || branch.flight != flight)
        return;  // It was given up before.
    branch.flight = 0;
    deadlines_.clear(branch.timer);
    MORTISE_CRASH_POINT("txn.called");
    if (thrown)
        got = code_of(thrown);
    auto& at = lanes_.find(what->what->branches[which - 1].participant)->second;
    if (got || is_final(got.error())) {
        at.judge.answered();
    } else {
        ++count_.calls_failed;
        const bool was_broken = at.judge.broken();
        at.judge.failed(now());
        is_slow(*what);
        if (at.judge.broken() && !was_broken) {
            for (const auto& each : at.queue)
                is_slow(*each.what);
        }
    }
    if (!gone(*what)) {
        auto view = view_of(got);
        view.what = operation_for(*what, which);
        view.attempt = branch.attempts;
        view.epoch = what->home->term->epoch;
        view.begun =
            std::chrono::duration_cast<std::chrono::microseconds>(branch.sent - what->since);
        view.took = std::chrono::duration_cast<std::chrono::microseconds>(now() - branch.sent);
        what->done.note(which, std::move(view));
        came(what, which, got);
    }
    pump(at);
    arm();
}

void coordinator_core::came(
    const running_ptr& what, branch_number which, const result<reply>& got
) {
    if (!got && (got.error() == errc::stale_epoch || got.error() == errc::participant_ahead))
        return doubt(*what->home);
    if (what->fsm.is_finishing(which))
        finish_came(what, which, got);
    else
        try_came(what, which, got);
}

void coordinator_core::try_came(
    const running_ptr& what, branch_number which, const result<reply>& got
) {
    const bool still_wanted = what->fsm.at() == core::tcc_fsm::phase::trying;
    steps next;
    if (got && got->what == reply::verdict::done) {
        what->fsm.tried(which, next);
    } else if (got && got->what == reply::verdict::refused) {
        if (still_wanted) {
            what->why = errc::refused;
            what->text = got->payload.substr(0, text_max);
        }
        what->fsm.try_refused(which, next);
    } else if (!got && is_final(got.error())) {
        if (still_wanted) {
            what->why = errc::refused;
            what->text = got.error().message();
        }
        what->fsm.try_refused(which, next);
    } else if (still_wanted && got) {
        --what->branches[which - 1].attempts;  // It answers: that is no failure.
        again_after(what, which, pause_asked_for(got->after));
    } else if (still_wanted && what->branches[which - 1].attempts < config_.try_attempts_max) {
        again_after(what, which, pause_after(what->branches[which - 1].attempts));
    } else {
        if (still_wanted) {
            what->why = errc::no_answer;
            what->text = got ? std::string() : got.error().message();
        }
        what->fsm.try_failed(which, next);
    }
    carry_out(what, next);
}

void coordinator_core::finish_came(
    const running_ptr& what, branch_number which, const result<reply>& got
) {
    auto& branch = what->branches[which - 1];
    branch.unasked = false;
    if (got && got->what == reply::verdict::done) {
        what->done.branches[which - 1].finished = true;
        steps next;
        what->fsm.finished(which, next);
        carry_out(what, next);
    } else if (got && got->what == reply::verdict::again) {
        is_slow(*what);
        again_after(what, which, pause_asked_for(got->after));
    } else if (got || is_final(got.error())) {
        stuck(what, which);
    } else {
        again_after(what, which, pause_after(branch.attempts));
        if ((branch.attempts & (branch.attempts - 1)) == 0)
            note(what);
    }
    if (wished_.erase(what->which.number) != 0)
        read_wishes(0);
}

void coordinator_core::again_after(
    const running_ptr& what, branch_number which, clock::duration pause
) {
    auto& branch = what->branches[which - 1];
    deadlines_.set(branch.timer, coro::saturating_add(now(), pause), [this, what, which] {
        what->branches[which - 1].timer.reset();
        if (!gone(*what))
            ask_participant(what, which);
    });
    arm();
}

// It will not get better by itself: people see it, and nothing is tried again and again.
void coordinator_core::stuck(const running_ptr& what, branch_number which) {
    what->fsm.stuck(which);
    what->done.branches[which - 1].stuck = true;
    ++count_.stuck;
    is_slow(*what);
    note(what);
}

// What has not been sent will not be; what is under way is told to end, and its answer awaited.
void coordinator_core::stop_tries(const running_ptr& what) {
    for (std::size_t i = 0; i < what->branches.size(); ++i) {
        auto& branch = what->branches[i];
        if (branch.flight != 0) {
            branch.stop->emit();
            continue;
        }
        const bool waiting = std::exchange(branch.queued, false) || branch.timer;
        deadlines_.clear(branch.timer);
        if (waiting) {
            steps none;
            what->fsm.try_failed(static_cast<branch_number>(i + 1), none);
            MORTISE_ASSERT(none.empty());
        }
    }
}

}  // namespace mortise::txn::detail
