// SPDX-License-Identifier: BSL-1.0
// Calls of participants: when they are made, and given up.
#include "coordinator/calls.hpp"

#include "coordinator/coordinator_core.hpp"
#include "mortise/coro/assert.hpp"
#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/coro/time_source.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>

#include <chrono>

namespace mortise::txn::detail {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t text_max = 1'024;  // bytes of a participant's words that the log keeps

// Takes the proof of a decision, so that no branch is confirmed or cancelled without one. The one
// exceptions are a presumed abort, because the term in which the transaction began is over, so that
// nobody can decide otherwise, and a branch that is alone, which decides for itself.
operation finishing_by(const log::durable_decision& proof) noexcept {
    return proof.confirm() ? operation::confirm : operation::cancel;
}

operation operation_for(const running& transaction, branch_number number) {
    if (!transaction.fsm.is_finishing(number))
        return operation::try_;
    if (transaction.fsm.presuming())
        return operation::cancel;
    MORTISE_ASSERT(transaction.proof && transaction.proof->gid() == transaction.gid);
    return finishing_by(*transaction.proof);
}

// Returns what the exception says besides its code, unless the code adds something to it.
std::string text_of(const boost::system::system_error& thrown) {
    std::string text = thrown.what();
    const std::string code = thrown.code().what();
    if (text == code)
        return {};
    const auto own = text.size() - std::min(text.size(), code.size() + 2);
    if (thrown.code() == errc::call_failed && text.substr(own) == ": " + code)
        text.resize(own);
    return text;
}

// Converts a participant's exception to a code and a text. Exceptions without a code say only that
// the call failed.
error_code code_of(const std::exception_ptr& thrown, std::string& text) {
    try {
        std::rethrow_exception(thrown);
    } catch (const boost::system::system_error& failed) {
        text = text_of(failed);
        return failed.code() ? failed.code() : error_code(errc::call_failed);
    } catch (const std::exception& failed) {
        text = failed.what();
    } catch (...) {
        text.clear();
    }
    return errc::call_failed;
}

std::string text_of(const reply::evidence& seen, const running& transaction) {
    std::string text = error_code(errc::participant_ahead).message() + " (it has seen";
    if (seen.epoch != 0)
        text += " epoch " + std::to_string(seen.epoch);
    if (seen.term != 0)
        text += " number " + std::to_string(transaction.gid.number) + " in another term";
    if (seen.ended_below != 0)
        text += " the end of all below number " + std::to_string(seen.ended_below);
    return text + ')';
}

std::string text_of(const result<reply>& got, const running& transaction, std::string thrown) {
    if (!got)
        return (thrown.empty() ? got.error().message() : std::move(thrown)).substr(0, text_max);
    if (got->type == reply::verdict::ahead)
        return text_of(got->seen, transaction);
    return got->type == reply::verdict::done ? std::string() : got->payload.substr(0, text_max);
}

call_view view_of(const result<reply>& got, std::string text) {
    call_view view;
    view.text = std::move(text);
    if (!got || got->type == reply::verdict::ahead)
        view.result = call_view::verdict::failed;
    else if (got->type == reply::verdict::refused)
        view.result = call_view::verdict::refused;
    else if (got->type == reply::verdict::again)
        view.result = call_view::verdict::again;
    return view;
}

}  // namespace

asio::awaitable<result<reply>> carry(std::shared_ptr<participant> client, call call) {
    co_return co_await client->carry_out(std::move(call));
}

bool is_final(error_code failed) noexcept {
    return failed == errc::late_try || failed == errc::unknown_branch || failed == errc::conflict ||
           failed == errc::stale_epoch || failed == errc::participant_ahead ||
           failed == mortise::errc::stale_token || failed == mortise::errc::foreign_domain ||
           failed == mortise::errc::no_token || failed == errc::unknown_participant;
}

void calls::send(const running_ptr& transaction, branch_number number) {
    const bool decides = transaction->undecided && transaction->fsm.presuming();
    if (context_.stopping() && !decides)
        return;  // the next coordinator finishes what is decided
    auto* const lane = core_.lanes.find(transaction->plan->branches[number - 1].participant);
    if (lane == nullptr)
        return core_.replies.judge(transaction, number, error_code(errc::unknown_participant), {});
    if (lane->limits.broken() && !lane->limits.may_call(context_.now()) &&
        transaction->fsm.at() == core::tcc_fsm::phase::trying) {
        core_.lanes.end_wait(*transaction, number);
        return core_.replies.give_up_try(transaction, number);
    }
    transaction->branches[number - 1].queued = true;
    core_.lanes.begin_wait(*transaction, number);
    if (lane->limits.broken())
        core_.recovery.mark_slow(*transaction);
    lane->queue.push_back({transaction, number});
    pump(*lane);
}

void calls::pump(participant_lane& at) {
    while (!at.queue.empty()) {
        const auto head = at.queue.front();
        auto& branch = head.transaction->branches[head.branch - 1];
        if (!core_.open.holds(*head.transaction) || !branch.queued) {
            at.queue.pop_front();
            continue;
        }
        if (!at.limits.may_call(context_.now())) {
            const auto next = at.limits.next(context_.now());
            if (!at.timer)
                context_.set_timer(at.timer, next, [this, &at] {
                    at.timer.reset();
                    pump(at);
                });
            return context_.arm();
        }
        at.queue.pop_front();
        branch.queued = false;
        call_branch(at, head.transaction, head.branch);
    }
}

call calls::call_for(const running& transaction, branch_number number) const {
    const auto& plan = *transaction.plan;
    call request;
    request.type = operation_for(transaction, number);
    request.gid = transaction.gid;
    request.branch = number;
    request.attempt = transaction.branches[number - 1].attempts;
    request.epoch = transaction.home->term->epoch;
    request.term = transaction.term;
    request.participant = plan.branches[number - 1].participant;
    request.payload = plan.branches[number - 1].payload;
    if (request.type == operation::try_) {
        request.work = transaction.branches[number - 1].work;
        request.one_phase = core_.lanes.commits_alone(plan);
    }
    request.locks = plan.locks;
    request.time_left = std::max(
        milliseconds(0),
        std::chrono::duration_cast<milliseconds>(transaction.until - context_.now())
    );
    request.ended_below = ends_.of(request.participant);
    request.presumed = transaction.fsm.presuming() && request.type == operation::cancel;
    request.traceparent = plan.traceparent;
    return request;
}

void calls::call_branch(
    participant_lane& at, const running_ptr& transaction, branch_number number
) {
    auto& branch = transaction->branches[number - 1];
    ++branch.attempts;
    branch.flight = ++flights_;
    branch.sent = context_.now();
    branch.stop = std::make_shared<call_stop>(context_.executor());
    at.limits.begin();
    ++context_.count.calls;
    const auto flight = branch.flight;
    context_.set_timer(
        branch.timer,
        coro::saturating_add(branch.sent, context_.config().call_max),
        [this, transaction, number, flight] {
            if (const auto& late = transaction->branches[number - 1].stop)
                late->emit();
            end_call(transaction, number, flight, nullptr, error_code(errc::call_too_late));
        }
    );
    asio::co_spawn(
        branch.stop->strand(),
        carry(at.client, call_for(*transaction, number)),
        asio::bind_cancellation_slot(
            branch.stop->slot(),
            asio::bind_executor(
                context_.strand(),
                [this, kept = context_.keep(), transaction, number, flight, stop = branch.stop](
                    const std::exception_ptr& thrown, result<reply> got
                ) { end_call(transaction, number, flight, thrown, std::move(got)); }
            )
        )
    );
    context_.arm();
}

void calls::end_call(
    const running_ptr& transaction,
    branch_number number,
    std::uint64_t flight,
    const std::exception_ptr& thrown,
    result<reply> got
) {
    auto& branch = transaction->branches[number - 1];
    if (context_.closed() || branch.flight != flight)
        return;  // the call was given up before
    branch.flight = 0;
    core_.lanes.end_wait(*transaction, number);
    context_.clear_timer(branch.timer);
    MORTISE_CRASH_POINT("txn.called");
    std::string text;
    if (thrown)
        got = code_of(thrown, text);
    text = text_of(got, *transaction, std::move(text));
    auto& at = core_.lanes.of(*transaction, number);
    if (got || is_final(got.error())) {
        core_.lanes.note_answer(at);
    } else {
        ++context_.count.calls_failed;
        const bool was_broken = at.limits.broken();
        core_.lanes.note_failure(at, got.error());
        core_.recovery.mark_slow(*transaction);
        if (at.limits.broken() && !was_broken) {
            for (const auto& each : at.queue)
                core_.recovery.mark_slow(*each.transaction);
            give_up_unsent(at);
        }
    }
    if (core_.open.holds(*transaction)) {
        auto view = view_of(got, text);
        view.type = operation_for(*transaction, number);
        view.attempt = branch.attempts;
        view.epoch = transaction->home->term->epoch;
        view.begun =
            std::chrono::duration_cast<std::chrono::microseconds>(branch.sent - transaction->since);
        view.took =
            std::chrono::duration_cast<std::chrono::microseconds>(context_.now() - branch.sent);
        transaction->done.note(number, std::move(view));
        core_.replies.judge(transaction, number, got, text);
        core_.operators.put_aside_later(transaction);
    }
    pump(at);
    context_.arm();
}

void calls::give_up_unsent(participant_lane& at) {
    const auto waiting = at.queue;
    for (const auto& each : waiting) {
        auto& branch = each.transaction->branches[each.branch - 1];
        if (!core_.open.holds(*each.transaction) || !branch.queued ||
            each.transaction->fsm.at() != core::tcc_fsm::phase::trying)
            continue;
        branch.queued = false;
        core_.lanes.end_wait(*each.transaction, each.branch);
        core_.replies.give_up_try(each.transaction, each.branch);
    }
}

// A try that never left needs no cancel, which would take a turn at a participant that is slow.
void calls::stop_tries(const running_ptr& transaction, steps& next) {
    for (std::size_t i = 0; i < transaction->branches.size(); ++i) {
        auto& branch = transaction->branches[i];
        const auto number = static_cast<branch_number>(i + 1);
        if (!transaction->fsm.is_trying(number))
            continue;
        if (branch.flight != 0) {
            branch.stop->emit();
            continue;
        }
        const bool waiting = branch.queued || branch.timer;
        const bool sent = branch.attempts != 0 || branch.agains != 0 || branch.uncertain;
        branch.queued = false;
        context_.clear_timer(branch.timer);
        core_.lanes.end_wait(*transaction, number);
        if (waiting && sent)
            transaction->fsm.try_failed(number, next);
        else if (waiting)
            transaction->fsm.try_refused(number, next);
    }
}

void calls::hurry(const running_ptr& transaction) {
    for (std::size_t i = 0; i < transaction->branches.size(); ++i) {
        auto& branch = transaction->branches[i];
        auto* const lane = core_.lanes.find(transaction->plan->branches[i].participant);
        if (lane == nullptr)
            continue;
        if (branch.timer && branch.flight == 0) {
            context_.clear_timer(branch.timer);
            send(transaction, static_cast<branch_number>(i + 1));
        }
        lane->limits.mend();
        pump(*lane);
    }
}

void calls::pump_all() {
    for (auto& [name, each] : core_.lanes.all())
        pump(each);
}

void calls::give_up(running& transaction) {
    for (std::size_t i = 0; i < transaction.branches.size(); ++i) {
        auto& each = transaction.branches[i];
        const auto number = static_cast<branch_number>(i + 1);
        context_.clear_timer(each.timer);
        if (each.flight != 0)
            core_.lanes.of(transaction, number).limits.given_up();
        each.flight = 0;
        each.queued = false;
        core_.lanes.end_wait(transaction, number);
        core_.lanes.clear_debt(transaction, number);
        if (each.stop)
            each.stop->emit();
    }
    core_.lanes.remove_bars(transaction);
}

}  // namespace mortise::txn::detail
