// SPDX-License-Identifier: BSL-1.0
#include "client/hold_ends.hpp"

#include "client/client_core.hpp"
#include "core/drift.hpp"
#include "core/planted_bug.hpp"

#include <utility>

namespace mortise::detail {

// The store may have made the grant as early as the request was sent, or as its age at a look says.
void hold_ends::begin(const claim_ptr& claim) {
    const clock::time_point since =
        claim->seen_at == clock::time_point() ? claim->sent : claim->seen_at - claim->age;
    claim->belief = core::hold_belief(after(since, claim->hold_max));
    apply(claim);
}

void hold_ends::extend(
    std::shared_ptr<held_grant> held, std::chrono::milliseconds hold_max, lease_handler handler
) {
    context_.spawn(run_extend(context_.keep(), std::move(held), hold_max, std::move(handler)));
}

asio::awaitable<void> hold_ends::run_extend(
    [[maybe_unused]] std::shared_ptr<const void> kept,
    std::shared_ptr<held_grant> held,
    std::chrono::milliseconds hold_max,
    lease_handler handler
) {
    const claim_ptr claim = held->of().shared_from_this();
    auto asking = ask_store(claim, hold_max);
    error_code failed = co_await std::move(asking);
    const lease_state state = held->state();
    if (state == lease_state::lost || state == lease_state::released)
        failed = held->check();
    handler.complete(failed);
    core_.arm();
}

asio::awaitable<error_code>
hold_ends::ask_store(claim_ptr claim, std::chrono::milliseconds hold_max) {
    const auto number = claim->belief.sent(after(context_.now(), hold_max));
    if (MORTISE_PLANTED(extension_taken_for_done))
        claim->belief.applied(number);
    apply(claim);
    core_.arm();
    const auto epoch = own_.keeper.begin_call();
    auto extending = context_.at_store().extend(claims::grant_of(*claim), hold_max);
    const auto kept_for = co_await std::move(extending);
    if (!own_.keeper.end_call(epoch) || !own_.claims.granted().contains(claim->id))
        co_return errc::outcome_unknown;
    if (context_.now() >= claim->end.at()) {
        over(claim);  // Somebody may have seen it lost already.
        co_return errc::lease_expired;
    }
    error_code failed;
    if (kept_for) {
        claim->kept_for = *kept_for;
        claim->extended_at = context_.now();
        claim->belief.applied(number);
    } else if (kept_for.error() == errc::session_lost) {
        own_.keeper.lose(errc::lease_lost);
        co_return errc::lease_lost;
    } else if (kept_for.error() == errc::lease_lost) {
        missing(claim);
        co_return errc::lease_lost;
    } else if (kept_for.error() == errc::database_busy) {
        claim->belief.not_applied(number);
        failed = errc::store_unavailable;
    } else {
        failed = errc::outcome_unknown;
    }
    apply(claim);
    co_return failed;
}

void hold_ends::compare(
    const claim_ptr& claim, const session_entry& seen, clock::time_point look_sent
) {
    if (seen.hold_max >= claim->kept_for || look_sent < claim->extended_at)
        return;
    claim->kept_for = seen.hold_max;
    claim->belief.shown(after(look_sent - seen.age, seen.hold_max));
    apply(claim);
}

// The store counts `hold` from `since` or later, by a clock that may be faster.
hold_end::moment hold_ends::after(clock::time_point since, std::chrono::milliseconds hold) const {
    if (hold == std::chrono::milliseconds::max())
        return {};
    const auto trusted = MORTISE_PLANTED(hold_max_without_drift)
                             ? clock::duration(hold)
                             : core::trusted_part(hold, context_.config().clock_drift_ppm);
    return hold_end::after(since, trusted, context_.timing().stop_margin);
}

void hold_ends::apply(const claim_ptr& claim) {
    const auto ends = claim->belief.ends();
    if (ends.end == claim->end.at())
        return;
    claim->end.set(ends);
    context_.set_timer(claim->alarm, ends.alarm, [this, claim] { warn(*claim); });
    context_.set_timer(claim->timer, ends.end, [this, claim] { over(claim); });
}

void hold_ends::warn(const claim& claim) {
    for (const auto& each : core_.locals.table().holders(claim)) {
        context_.tell(lock_event::kind::warned, *each, errc::lease_expired);
        each->end_waiting(errc::lease_expired);
    }
}

void hold_ends::over(const claim_ptr& claim) {
    for (const auto& each : core_.locals.table().holders(*claim))
        each->end_waiting(errc::lease_expired);
    if (!own_.claims.granted().contains(claim->id))
        return;
    queue_work work;
    own_.claims.lose(*claim, errc::lease_expired, work);
    own_.releases.start(claim);
    core_.locals.carry_out(std::move(work));
}

void hold_ends::missing(const claim_ptr& claim) {
    queue_work work;
    own_.claims.lose_missing(claim, work);
    core_.locals.carry_out(std::move(work));
}

}  // namespace mortise::detail
