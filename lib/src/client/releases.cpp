// SPDX-License-Identifier: BSL-1.0
#include "client/releases.hpp"

#include "client/client_core.hpp"

#include <utility>

namespace mortise::detail {

std::shared_ptr<release_op> releases::start(const claim_ptr& released) {
    const auto op = begin(released);
    if (op)
        context_.spawn(run_release(context_.keep(), op));
    core_.arm();
    return op;
}

void releases::start_with(const claim_ptr& released, const claim_ptr& next) {
    const auto op = begin(released);
    const bool may_ask = own_.claims.enter(next);
    if (op && may_ask) {
        context_.count.add(&client_stats::requests);
        context_.spawn(run_release_with(context_.keep(), op, own_.claims.begin(next)));
    } else if (op) {
        context_.spawn(run_release(context_.keep(), op));
    } else if (may_ask) {
        own_.claims.drive(next, next->fsm.session_ready());
    }
    core_.arm();
}

// @return null if the session was lost, or the client stopped, on the way here.
std::shared_ptr<release_op> releases::begin(const claim_ptr& released) {
    context_.clear_timer(released->timer);
    context_.clear_timer(released->alarm);
    const auto op = std::make_shared<release_op>(released);
    if (!own_.claims.take_granted(*released)) {
        complete_lost(*op, context_.stopping() ? errc::client_stopped : errc::lease_lost);
        return nullptr;
    }
    op->since = context_.now();
    under_way_.emplace(released->id, op);
    context_.set_timer(
        op->timer,
        coro::saturating_add(op->since, context_.config().release_budget),
        [this, op] {
            context_.count.add(&client_stats::undone_late);
            tell_failed(*op, errc::outcome_unknown);
            complete(*op, errc::outcome_unknown);
        }
    );
    return op;
}

asio::awaitable<void> releases::run_release(
    [[maybe_unused]] std::shared_ptr<const void> kept, std::shared_ptr<release_op> op
) {
    const auto epoch = own_.keeper.begin_call();
    auto releasing = context_.at_store().release(claims::grant_of(*op->released_claim));
    const auto reply = co_await std::move(releasing);
    answered(op, epoch, reply);
}

asio::awaitable<void> releases::run_release_with(
    [[maybe_unused]] std::shared_ptr<const void> kept,
    std::shared_ptr<release_op> op,
    claims::sent_request request
) {
    const auto epoch = own_.keeper.begin_call();
    auto passing = context_.at_store().release_and_request(
        claims::grant_of(*op->released_claim), request.sent
    );
    const auto both = co_await std::move(passing);
    answered(op, epoch, both.released);
    own_.claims.take_answer(request, both.asked);
}

void releases::answered(
    const std::shared_ptr<release_op>& op, std::uint64_t epoch, result<bool> reply
) {
    op->answered = true;
    const bool counts = own_.keeper.end_call(epoch);
    if (!counts) {
        // The end of the session, or of the client, completed it.
    } else if (reply) {
        end(op, *reply || op->retries != 0 ? error_code() : error_code(errc::lease_lost));
    } else if (reply.error() == errc::session_lost) {
        own_.keeper.lose(errc::lease_lost);
    } else {
        op->store_busy = reply.error() == errc::database_busy;
        try_later(op);
    }
    if (context_.closed())
        return;
    for (const auto& next : std::exchange(op->behind, {}))
        core_.sessions.of(*next).claims.send_behind(next);
    core_.arm();
}

// Retries after a pause, and gives up the session for the same reason as `claims::try_later`.
void releases::try_later(const std::shared_ptr<release_op>& op) {
    const auto at = context_.now();
    const auto patience = context_.timing().ttl + context_.config().release_budget;
    if (!op->store_busy && at - op->since > patience)
        return own_.keeper.abandon();
    context_.set_timer(op->retry_timer, at + undo_pause(op->retries++), [this, op] {
        context_.spawn(run_release(context_.keep(), op));
    });
}

void releases::end(const std::shared_ptr<release_op>& op, error_code result) {
    context_.clear_timer(op->timer);
    context_.clear_timer(op->retry_timer);
    under_way_.erase(op->released_claim->id);
    if (result) {
        complete_lost(*op, result);
        return;
    }
    if (op->of_lease)
        context_.count.add(&client_stats::released);
    if (op->of_lease && op->late)
        context_.count.add(&client_stats::released_late);
    complete(*op, result);
}

// Others may have the lock already. What a client that stops leaves to its store is not lost.
void releases::complete_lost(release_op& op, error_code why) {
    if (op.of_lease && why != errc::client_stopped && !context_.stopping()) {
        context_.count.add(&client_stats::lost);
        tell_failed(op, why);
    }
    complete(op, why);
}

void releases::session_lost(errc why) {
    for (const auto& [id, op] : take_all()) {
        context_.clear_timer(op->timer);
        context_.clear_timer(op->retry_timer);
        complete_lost(*op, why);
    }
}

// Once for each lease that somebody released.
void releases::tell_failed(release_op& op, error_code why) const noexcept {
    if (!op.of_lease || std::exchange(op.reported, true))
        return;
    lock_event event;
    event.type = lock_event::kind::release_failed;
    event.name = op.released_claim->lock_name();
    event.token = op.released_claim->token;
    event.code = why;
    context_.tell(event);
}

void releases::complete(release_op& op, error_code result) {
    if (auto handler = std::move(op.handler))
        handler.complete(result);
}

void releases::withdraw_orphan(std::string name, request_id id) {
    context_.spawn(run_orphan(context_.keep(), std::move(name), id));
}

asio::awaitable<void> releases::run_orphan(
    [[maybe_unused]] std::shared_ptr<const void> kept, std::string name, request_id id
) {
    context_.count.add(&client_stats::orphans);
    const auto epoch = own_.keeper.begin_call();
    const error_code result = co_await context_.at_store().withdraw(std::move(name), id);
    if (own_.keeper.end_call(epoch) && result)
        own_.looks.want();
}

}  // namespace mortise::detail
