// SPDX-License-Identifier: BSL-1.0
#include "client/granted_claims.hpp"

#include "client/owner_records.hpp"

#include <algorithm>
#include <utility>

namespace mortise::detail {
namespace {

using mode_kind = lock_mode::kind;

// Whether an owner that holds a lock in mode `has` thereby holds it in mode `wants`.
bool covers(const lock_mode& has, const lock_mode& wants) noexcept {
    return has.type() == mode_kind::exclusive || has == wants;
}

}  // namespace

bool ends_by_itself(const local_waiter& waiter) noexcept {
    return waiter.options.hold_max != std::chrono::milliseconds::max();
}

bool reads(const local_waiter& waiter) noexcept {
    return waiter.options.mode.type() == mode_kind::shared;
}

bool fits(const claim& claim, const local_waiter& waiter) noexcept {
    if (claim.ends_by_itself() || ends_by_itself(waiter))
        return claim.only_for == &waiter;
    return claim.mode == waiter.options.mode ||
           (claim.mode.type() == mode_kind::exclusive && reads(waiter));
}

void granted_claims::add(const std::shared_ptr<claim>& claim) {
    claim->at = claim::stage::granted;
    claims_.push_back(claim);
    if (claim->mode.type() == mode_kind::shared)
        claim->shared_token = claim->token;
    else
        claim->tokens = token_supply(claim->token);
    if (claim->contended)
        begin_turn(*claim);
}

void granted_claims::remove(claim& claim) {
    claim.at = claim::stage::over;
    std::erase_if(claims_, [&](const auto& each) { return each.get() == &claim; });
}

std::vector<std::shared_ptr<held_grant>> granted_claims::lose(claim& claim) {
    std::vector<std::shared_ptr<held_grant>> lost;
    const auto kept = claim.shared_from_this();
    remove(claim);
    claim.holders = 0;
    while (claim.holds != nullptr) {
        auto held = claim.holds->weak_from_this().lock();
        unlink(claim.holds, *claim.holds);
        if (held)
            lost.push_back(std::move(held));
    }
    return lost;
}

void granted_claims::abandon() noexcept {
    for (const auto& each : std::exchange(claims_, {})) {
        each->at = claim::stage::over;
        while (each->holds != nullptr) {
            each->holds->lose_silently(errc::client_stopped);
            unlink(each->holds, *each->holds);
        }
    }
}

claim* granted_claims::idle() const noexcept {
    const auto found = std::find_if(claims_.begin(), claims_.end(), [](const auto& each) {
        return each->holders == 0;
    });
    return found == claims_.end() ? nullptr : found->get();
}

bool granted_claims::held() const noexcept {
    return std::any_of(claims_.begin(), claims_.end(), [](const auto& each) {
        return each->holders != 0;
    });
}

bool granted_claims::exclude(const local_waiter& waiter) const noexcept {
    return std::any_of(claims_.begin(), claims_.end(), [&](const auto& each) {
        const bool together = each->mode == waiter.options.mode &&
                              each->mode.type() != mode_kind::exclusive && !each->contended;
        return !together;
    });
}

claim* granted_claims::serving_now(const local_waiter& waiter) const {
    for (const auto& each : claims_) {
        const bool joins = each->hosts_readers && reads(waiter);
        if ((each->holders == 0 || joins) && !each->contended && will_serve(*each, waiter) &&
            may_pass(*each, rules_.home->now()))
            return each.get();
    }
    return nullptr;
}

bool granted_claims::will_serve(const local_waiter& head) const {
    return std::any_of(claims_.begin(), claims_.end(), [&](const auto& each) {
        return each->mode.type() != mode_kind::permits && will_serve(*each, head);
    });
}

bool granted_claims::will_serve(const claim& claim, const local_waiter& waiter) const noexcept {
    if (!rules_.local_handoff || claim.ends_by_itself() || !fits(claim, waiter))
        return false;
    return !(claim.mode.type() == mode_kind::shared && claim.contended);
}

bool granted_claims::may_pass(const claim& claim, clock::time_point now) const {
    if (!rules_.local_handoff || claim.ends_by_itself() || now >= claim.watch->deadline())
        return false;
    if (claim.mode.type() != mode_kind::shared && claim.tokens.empty())
        return false;
    return !claim.contended || (claim.turn_left != 0 && now < claim.turn_end);
}

void granted_claims::begin_turn(claim& claim) const {
    claim.turn_left = rules_.turn_handoffs_max;
    claim.turn_end = coro::saturating_add(rules_.home->now(), rules_.turn_time_max);
}

void granted_claims::open_to_readers(claim& claim) {
    claim.hosts_readers = true;
    if (claim.mode.type() != mode_kind::shared)
        claim.shared_token = claim.tokens.take();
}

std::shared_ptr<held_grant> granted_claims::give(claim& claim, const local_waiter& waiter) const {
    const fencing_token token = claim.hosts_readers ? claim.shared_token : claim.tokens.take();
    auto held = make_hold(claim, waiter, token);
    held->linger = waiter.options.linger;
    ++claim.holders;
    return held;
}

std::shared_ptr<held_grant> granted_claims::make_hold(
    claim& claim, const local_waiter& waiter, const fencing_token& token
) const {
    auto held = std::make_shared<held_grant>(claim.shared_from_this(), rules_.home, token);
    held->owner = waiter.options.owner;
    held->mode = waiter.options.mode;
    link(claim.holds, *held, held_grant::place::holders);
    return held;
}

granted_claims::owner_hold granted_claims::hold_of(const owner_id& owner) const noexcept {
    owner_hold found;
    for (const auto& each : claims_) {
        for (held_grant* held = each->holds; held != nullptr; held = held->after) {
            const auto state = held->owner == owner ? held->state() : lease_state::released;
            if (state == lease_state::released)
                continue;  // Its release is about to come here.
            if (state != lease_state::lost) {
                found.live = held;
                return found;
            }
            found.lost = true;  // By the clock alone: an outer lease may still hold the grant.
        }
    }
    return found;
}

error_code
granted_claims::hold_again(held_grant& held, local_waiter& waiter, queue_work& work) const {
    if (const error_code wrong = held.check())
        return wrong;
    const auto& mode = waiter.options.mode;
    if (!covers(held.mode, mode)) {
        const bool permits =
            held.mode.type() == mode_kind::permits && mode.type() == mode_kind::permits;
        return permits ? errc::capacity_differs : errc::upgrade_refused;
    }
    auto root = held.root ? held.root : held.shared_from_this();
    if (root->count >= rules_.holds_max)
        return errc::too_many_holds;
    auto again = make_hold(held.of(), waiter, held.token());
    again->mode = held.mode;
    ++root->count;
    again->root = std::move(root);
    if (ends_by_itself(waiter)) {
        again->own_end.set(
            hold_end::after(rules_.home->now(), waiter.options.hold_max, rules_.stop_margin)
        );
        work.add_hold(strand_task::kind::time, again);
    }
    waiter.granted = std::move(again);
    return {};
}

bool granted_claims::watch(held_grant& held, bool waited_for) {
    if (held.stands != held_grant::place::holders)
        return true;
    if (held.of().contended || waited_for)
        return false;
    held.watches = watched_ = true;
    return true;
}

void granted_claims::tell_contended(bool waited_for, queue_work& work) {
    if (!std::exchange(watched_, false))
        return;
    for (const auto& each : claims_) {
        for (held_grant* held = each->holds; held != nullptr; held = held->after) {
            if (!held->watches)
                continue;
            if (!each->contended && !waited_for) {
                watched_ = true;  // Another slot of the lock is contended.
                continue;
            }
            held->watches = false;
            if (auto watcher = held->weak_from_this().lock())
                work.contended.push_back(std::move(watcher));
        }
    }
}

}  // namespace mortise::detail
