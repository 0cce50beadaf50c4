// SPDX-License-Identifier: BSL-1.0
#include "client/client_core.hpp"
#include "mortise/coro/assert.hpp"
#include "mortise/coro/detail/cancel_proxy.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>

#include <utility>

namespace mortise::detail {
namespace {

// What speaks against an acquire before anybody is asked.
error_code refusal(const std::string& name, const lock_options& options) {
    if (const auto wrong = check_name(name))
        return wrong->code();
    if (const auto wrong = check_options(options))
        return wrong->code();
    return {};
}

}  // namespace

void client_core::acquire(
    std::string name, lock_options options, bool queue, acquire_op::handler_type handler
) {
    const error_code refused =
        process_.forked() ? error_code(errc::forked) : refusal(name, options);
    const auto op = std::make_shared<acquire_op>(
        weak_from_this(),
        std::move(name),
        options,
        queue && options.wait_max != std::chrono::milliseconds::zero(),
        std::move(handler)
    );
    counters_.add(&client_stats::waiting);
    if (refused) {
        deliver(*op, refused, lease());
        return;
    }
    coro::detail::install_cancel_proxy<acquire_op>(op->slot(), *strand_, op);
    asio::dispatch(*strand_, [self = shared_from_this(), op] { self->start(op); });
}

void client_core::start(const op_ptr& op) {
    if (op->fsm.finished())
        return;  // The signal was faster.
    if (stopping_)
        return stop_op(op, errc::client_stopped);
    if (ops_.size() + idle_ops_.size() >= config_.waiters_max)
        return stop_op(op, errc::too_many_waiters);
    op->order = ++last_order_;
    if (op->queue) {
        deadlines_.set(op->timer, coro::saturating_add(now(), op->options.wait_max), [this, op] {
            stop_op(op, errc::busy);
        });
    }
    idle_ops_.emplace(op->order, op);
    if (session_.open())
        drive(op, op->fsm.session_ready());
    else
        need_session();
    arm();
}

void client_core::cancel(acquire_op& op) {
    stop_op(op.shared_from_this(), asio::error::operation_aborted);
    arm();
}

void client_core::stop_op(const op_ptr& op, error_code reason) {
    const action next = op->fsm.stop(reason);
    bound_undo(op);
    drive(op, next);
}

// From the moment that nobody wants the lock any more, the budget runs.
void client_core::bound_undo(const op_ptr& op) {
    if (!op->fsm.stopped() || op->fsm.finished() || op->undo_since != clock::time_point())
        return;
    op->undo_since = now();
    deadlines_
        .set(op->timer, coro::saturating_add(op->undo_since, config_.release_budget), [this, op] {
            counters_.add(&client_stats::undone_late);
            drive(op, op->fsm.budget_over());
        });
}

void client_core::drive(const op_ptr& op, action next) {
    switch (next) {
    case action::none:
        break;
    case action::send_request:
        send_request(op);
        break;
    case action::send_withdraw:
        spawn(run_withdraw(shared_from_this(), op));
        break;
    case action::try_later:
        undo_later(op);
        break;
    case action::finish:
        finish(op);
        break;
    }
    if (op->fsm.settled()) {
        drop(op);
    } else if (op->fsm.unproved()) {
        unproved_.insert(op->id);
        beat_now();
    }
}

void client_core::send_request(const op_ptr& op) {
    if (op->id == 0) {
        idle_ops_.erase(op->order);
        op->id = ++last_id_;
        ops_.emplace(op->id, op);
    }
    spawn(run_request(shared_from_this(), op));
}

asio::awaitable<void>
client_core::run_request([[maybe_unused]] std::shared_ptr<client_core> self, op_ptr op) {
    const auto epoch = epoch_;
    lock_request wish;
    wish.id = op->id;
    wish.name = op->name;
    wish.queue = op->queue;
    ++calls_;
    ++calls_under_way_;
    const auto reply = co_await store_->request(std::move(wish));
    --calls_under_way_;
    if (epoch != epoch_ || closed_)
        co_return;  // That session is gone; the state machine was told.
    if (reply)
        drive(op, op->fsm.answered(*reply, surely_held()));
    else if (reply.error() == errc::session_lost)
        session_over(errc::lease_lost);
    else
        fail_request(op, reply.error());
    arm();
}

// Whether it arrived is unknown, so it is undone like a cancelled one, within the same budget.
void client_core::fail_request(const op_ptr& op, error_code why) {
    const action next = op->fsm.request_failed(why);
    bound_undo(op);
    drive(op, next);
}

asio::awaitable<void>
client_core::run_withdraw([[maybe_unused]] std::shared_ptr<client_core> self, op_ptr op) {
    const auto epoch = epoch_;
    ++calls_;
    ++calls_under_way_;
    const error_code result = co_await store_->withdraw(op->name, op->id);
    --calls_under_way_;
    if (epoch != epoch_ || closed_)
        co_return;
    if (result == errc::session_lost)
        session_over(errc::lease_lost);
    else
        drive(op, op->fsm.withdrawn(result));
    arm();
}

// A live session would keep for ever what cannot be withdrawn: after a TTL of trying it is given
// up.
void client_core::undo_later(const op_ptr& op) {
    if (op->fsm.finished() && now() - op->undo_since > timing_.ttl)
        return abandon();
    deadlines_.set(op->retry_timer, now() + undo_pause(op->retries++), [this, op] {
        drive(op, op->fsm.retry());
    });
}

void client_core::finish(const op_ptr& op) {
    if (!op->fsm.token())
        return deliver(*op, op->fsm.outcome(), lease());
    grant at_store;
    at_store.id = op->id;
    at_store.name = op->name;
    at_store.token = op->fsm.token();
    auto held =
        std::make_shared<held_grant>(std::move(at_store), watch_, weak_from_this(), executor_);
    grants_.emplace(op->id, held);
    counters_.add(&client_stats::leases);
    deliver(*op, {}, lease(std::move(held)));
}

void client_core::deliver(acquire_op& op, error_code code, lease held) {
    counters_.add(&client_stats::waiting, -1);
    if (!code)
        counters_.add(&client_stats::granted);
    else if (code == errc::busy)
        counters_.add(&client_stats::busy);
    else if (code == asio::error::operation_aborted)
        counters_.add(&client_stats::cancelled);
    else
        counters_.add(&client_stats::failed);
    op.complete(code, std::move(held));
}

// Back to the queue of those that wait for a session.
void client_core::to_idle(const op_ptr& op) {
    deadlines_.clear(op->retry_timer);
    op->id = 0;
    op->retries = 0;
    idle_ops_.emplace(op->order, op);
}

void client_core::drop(const op_ptr& op) {
    deadlines_.clear(op->timer);
    deadlines_.clear(op->retry_timer);
    idle_ops_.erase(op->order);
    unproved_.erase(op->id);
    ops_.erase(op->id);
}

std::vector<client_core::op_ptr> client_core::all_ops() const {
    std::vector<op_ptr> all;
    all.reserve(ops_.size() + idle_ops_.size());
    for (const auto& [id, op] : ops_)
        all.push_back(op);
    for (const auto& [order, op] : idle_ops_)
        all.push_back(op);
    return all;
}

}  // namespace mortise::detail
