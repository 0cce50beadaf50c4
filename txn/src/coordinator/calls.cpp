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

// Keeps the participant alive while it works on the call.
asio::awaitable<result<reply>> carry(std::shared_ptr<participant> client, call call) {
    co_return co_await client->carry_out(std::move(call));
}

// Takes the proof of a decision, so that no branch is confirmed or cancelled without one. The one
// exception is a presumed abort: the term in which the transaction began is over, so nobody can
// decide otherwise.
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

std::size_t waiting_max_of(const coordinator_config& config) noexcept {
    return config.waiting_max != 0 ? config.waiting_max : config.open_max - config.open_max / 4;
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

bool is_final(error_code failed) noexcept {
    return failed == errc::late_try || failed == errc::unknown_branch || failed == errc::conflict ||
           failed == errc::stale_epoch || failed == errc::participant_ahead ||
           failed == mortise::errc::stale_token || failed == mortise::errc::foreign_domain ||
           failed == mortise::errc::no_token || failed == errc::unknown_participant;
}

calls::calls(coordinator_core& core, coordinator_context& context)
    : coordinator_part(core, context), waiting_max_(waiting_max_of(context.config())) {
    const auto& config = context.config();
    for (const auto& [name, client] : config.participants) {
        const auto calls_max = std::max<std::size_t>(client->calls_at_once(), 1);
        lanes_.try_emplace(
            name, lane(calls_max, config.breaker_failures, config.retry_max), client
        );
    }
}

void calls::send(const running_ptr& transaction, branch_number number) {
    if (context_.stopping())
        return;  // the next coordinator finishes what is decided
    const auto found = lanes_.find(transaction->plan->branches[number - 1].participant);
    if (found == lanes_.end())
        return core_.replies.judge(transaction, number, error_code(errc::unknown_participant), {});
    auto& lane = found->second;
    if (lane.judge.broken() && !lane.judge.may_call(context_.now()) &&
        transaction->fsm.at() == core::tcc_fsm::phase::trying) {
        end_wait(*transaction, number);
        return core_.replies.give_up_try(transaction, number);
    }
    transaction->branches[number - 1].queued = true;
    begin_wait(*transaction, number);
    if (lane.judge.broken())
        core_.recovery.mark_slow(*transaction);
    lane.queue.push_back({transaction, number});
    pump(lane);
}

void calls::pump(client_lane& at) {
    while (!at.queue.empty()) {
        const auto head = at.queue.front();
        auto& branch = head.transaction->branches[head.branch - 1];
        if (!core_.open.holds(*head.transaction) || !branch.queued) {
            at.queue.pop_front();
            continue;
        }
        if (!at.judge.may_call(context_.now())) {
            const auto next = at.judge.next(context_.now());
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

void calls::call_branch(client_lane& at, const running_ptr& transaction, branch_number number) {
    auto& branch = transaction->branches[number - 1];
    ++branch.attempts;
    branch.flight = ++flights_;
    branch.sent = context_.now();
    branch.stop = std::make_shared<call_stop>(context_.executor());
    at.judge.begin();
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
    end_wait(*transaction, number);
    context_.clear_timer(branch.timer);
    MORTISE_CRASH_POINT("txn.called");
    std::string text;
    if (thrown)
        got = code_of(thrown, text);
    text = text_of(got, *transaction, std::move(text));
    auto& [name, at] = *lanes_.find(transaction->plan->branches[number - 1].participant);
    if (got || is_final(got.error())) {
        at.judge.answered();
        note_health(at, name, got);
    } else {
        ++context_.count.calls_failed;
        const bool was_broken = at.judge.broken();
        at.judge.failed(context_.now());
        note_health(at, name, got);
        core_.recovery.mark_slow(*transaction);
        if (at.judge.broken() && !was_broken) {
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

// Reports a change once, even if operators have the participant tried several times meanwhile.
void calls::note_health(client_lane& at, const std::string& name, const result<reply>& got) {
    const bool answers = got || is_final(got.error());
    if (answers ? !at.broken : at.broken || !at.judge.broken())
        return;
    at.broken = !answers;
    answers ? --context_.count.broken : ++context_.count.broken;
    txn_event event;
    event.type =
        answers ? txn_event::kind::participant_recovered : txn_event::kind::participant_broken;
    event.participant = name;
    if (!answers)
        event.code = got.error();
    context_.report(event);
}

void calls::add_debt(running& transaction, branch_number number) {
    if (!std::exchange(transaction.branches[number - 1].owed, true))
        ++lanes_.find(transaction.plan->branches[number - 1].participant)->second.owed;
}

// Nothing new is begun with a participant that does not answer: a new transaction would only wait
// there, in the place of others. Confirms and cancels that are owed to it find out when it answers
// again; if there are none, a new transaction may.
bool calls::is_away(const running& transaction) const {
    return std::any_of(
        transaction.plan->branches.begin(),
        transaction.plan->branches.end(),
        [&](auto& each) {
            const auto found = lanes_.find(each.participant);
            if (found == lanes_.end() || !found->second.judge.broken())
                return false;
            const auto& lane = found->second;
            return lane.owed != 0 || !lane.queue.empty() || !lane.judge.may_call(context_.now());
        }
    );
}

void calls::give_up_unsent(client_lane& at) {
    const auto waiting = at.queue;
    for (const auto& each : waiting) {
        auto& branch = each.transaction->branches[each.branch - 1];
        if (!core_.open.holds(*each.transaction) || !branch.queued ||
            each.transaction->fsm.at() != core::tcc_fsm::phase::trying)
            continue;
        branch.queued = false;
        end_wait(*each.transaction, each.branch);
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
        end_wait(*transaction, number);
        if (waiting && sent)
            transaction->fsm.try_failed(number, next);
        else if (waiting)
            transaction->fsm.try_refused(number, next);
    }
}

bool calls::is_full(const running& transaction) const {
    return std::any_of(
        transaction.plan->branches.begin(),
        transaction.plan->branches.end(),
        [&](auto& each) {
            const auto found = lanes_.find(each.participant);
            return found != lanes_.end() && found->second.waiters >= waiting_max_;
        }
    );
}

void calls::begin_waits(running& transaction) {
    for (std::size_t i = 0; i < transaction.branches.size(); ++i)
        begin_wait(transaction, static_cast<branch_number>(i + 1));
}

void calls::end_waits(running& transaction) {
    for (std::size_t i = 0; i < transaction.branches.size(); ++i)
        end_wait(transaction, static_cast<branch_number>(i + 1));
}

void calls::begin_wait(running& transaction, branch_number number) {
    auto& branch = transaction.branches[number - 1];
    if (std::exchange(branch.waits, true) || transaction.branches[branch.first].waiting++ != 0)
        return;
    const auto found = lanes_.find(transaction.plan->branches[number - 1].participant);
    if (found != lanes_.end())
        ++found->second.waiters;
}

void calls::end_wait(running& transaction, branch_number number) {
    auto& branch = transaction.branches[number - 1];
    if (!std::exchange(branch.waits, false) || --transaction.branches[branch.first].waiting != 0)
        return;
    const auto found = lanes_.find(transaction.plan->branches[number - 1].participant);
    if (found != lanes_.end())
        --found->second.waiters;
}

// Allows new transactions with its participants again, because an operator has looked at it.
void calls::lift_bars(const running& transaction) {
    for (std::size_t i = 0; i < transaction.branches.size(); ++i) {
        if (transaction.branches[i].bars)
            lanes_.find(transaction.plan->branches[i].participant)->second.ahead.clear();
    }
}

void calls::remove_bars(running& transaction) {
    for (std::size_t i = 0; i < transaction.branches.size(); ++i) {
        if (std::exchange(transaction.branches[i].bars, false)) {
            auto& lane = lanes_.find(transaction.plan->branches[i].participant)->second;
            lane.ahead.erase(transaction.gid.number);
        }
    }
}

bool calls::is_barred(const running& transaction) const {
    return std::any_of(
        transaction.plan->branches.begin(),
        transaction.plan->branches.end(),
        [&](auto& each) {
            const auto found = lanes_.find(each.participant);
            return found != lanes_.end() && !found->second.ahead.empty();
        }
    );
}

void calls::hurry(const running_ptr& transaction) {
    for (std::size_t i = 0; i < transaction->branches.size(); ++i) {
        auto& branch = transaction->branches[i];
        const auto found = lanes_.find(transaction->plan->branches[i].participant);
        if (found == lanes_.end())
            continue;
        if (branch.timer && branch.flight == 0) {
            context_.clear_timer(branch.timer);
            send(transaction, static_cast<branch_number>(i + 1));
        }
        found->second.judge.mend();
        pump(found->second);
    }
}

void calls::clear_debt(running& transaction, branch_number number) {
    if (std::exchange(transaction.branches[number - 1].owed, false))
        --lanes_.find(transaction.plan->branches[number - 1].participant)->second.owed;
}

void calls::bar(running& transaction, branch_number number) {
    transaction.branches[number - 1].bars = true;
    const auto& participant = transaction.plan->branches[number - 1].participant;
    lanes_.find(participant)->second.ahead.insert(transaction.gid.number);
}

void calls::pump_all() {
    for (auto& [name, each] : lanes_)
        pump(each);
}

void calls::give_up(running& transaction) {
    for (std::size_t i = 0; i < transaction.branches.size(); ++i) {
        auto& each = transaction.branches[i];
        context_.clear_timer(each.timer);
        if (each.flight != 0)
            lanes_.find(transaction.plan->branches[i].participant)->second.judge.given_up();
        each.flight = 0;
        each.queued = false;
        end_wait(transaction, static_cast<branch_number>(i + 1));
        clear_debt(transaction, static_cast<branch_number>(i + 1));
        if (each.stop)
            each.stop->emit();
    }
    remove_bars(transaction);
}

void calls::clear_queues() noexcept {
    for (auto& [name, each] : lanes_)
        each.queue.clear();
}

}  // namespace mortise::txn::detail
