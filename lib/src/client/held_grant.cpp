// SPDX-License-Identifier: BSL-1.0
#include "client/held_grant.hpp"

#include "client/lock_queue.hpp"
#include "core/planted_bug.hpp"
#include "mortise/coro/assert.hpp"

#include <algorithm>
#include <utility>

namespace mortise::detail {

held_grant::held_grant(
    std::shared_ptr<claim> claim,
    std::shared_ptr<const client_home> home,
    const fencing_token& token
) noexcept
    : of_(std::move(claim)), home_(std::move(home)), token_(token) {}

held_grant::~held_grant() {
    delete for_loss_.load(std::memory_order_acquire);
    delete for_contention_.load(std::memory_order_acquire);
}

const std::string& held_grant::name() const noexcept {
    return of_->lock_name();
}

bool held_grant::over() const noexcept {
    return phase_.load(std::memory_order_acquire) != phase::live || home_->stopped() ||
           home_->forked();
}

clock::time_point held_grant::deadline() const noexcept {
    const clock::time_point sure_until = of_->watch->deadline();
    return over() ? clock::time_point::min() : std::min(sure_until, end());
}

clock::time_point held_grant::verified() const noexcept {
    const clock::time_point sent = of_->watch->verified();
    return over() ? clock::time_point::min() : sent;
}

lease_state held_grant::state() const noexcept {
    const clock::time_point sure_until = of_->watch->deadline();
    switch (phase_.load(std::memory_order_acquire)) {
    case phase::released:
        return lease_state::released;
    case phase::lost:
        return lease_state::lost;
    case phase::live:
        break;
    }
    if (home_->forked() || home_->stopped())
        return lease_state::lost;
    if (MORTISE_PLANTED(lease_without_clock))
        return lease_state::held;
    const clock::time_point now = home_->now();
    if (now >= end())
        return lease_state::lost;
    return now < sure_until ? lease_state::held : lease_state::unsure;
}

error_code held_grant::check() const noexcept {
    if (home_->forked())
        return errc::forked;
    switch (state()) {
    case lease_state::held:
        return {};
    case lease_state::unsure:
        return errc::lease_expired;
    case lease_state::lost:
        // The phase is still live if the lease ended by the clock alone, or the client just
        // stopped.
        if (phase_.load(std::memory_order_acquire) != phase::live)
            return why_.load(std::memory_order_relaxed);
        return home_->stopped() ? errc::client_stopped : errc::lease_expired;
    case lease_state::released:
        break;
    }
    return errc::lease_released;
}

bool held_grant::take_for_release() noexcept {
    phase expected = phase::live;
    return phase_.compare_exchange_strong(expected, phase::released);
}

bool held_grant::lose(errc why) {
    why_.store(why, std::memory_order_relaxed);
    phase expected = phase::live;
    const bool news = phase_.compare_exchange_strong(expected, phase::lost);
    end_waiting(why);
    return news;
}

void held_grant::lose_silently(errc why) noexcept {
    why_.store(why, std::memory_order_relaxed);
    phase expected = phase::live;
    phase_.compare_exchange_strong(expected, phase::lost);
}

void held_grant::end_waiting(error_code why) {
    complete(for_loss_, why);
    complete(for_contention_, why);
}

void held_grant::end_contended(error_code why) {
    complete(for_contention_, why);
}

void held_grant::wait_lost(lease_handler handler) {
    wait(for_loss_, std::move(handler));
}

void held_grant::wait_contended(lease_handler handler) {
    wait(for_contention_, std::move(handler));
}

void held_grant::complete(waiters& list_of_waiters, error_code why) {
    if (auto* const list = list_of_waiters.load(std::memory_order_acquire))
        list->complete_all(why);
}

void held_grant::wait(waiters& where, lease_handler handler) {
    auto* list = where.load(std::memory_order_acquire);
    if (list == nullptr) {
        auto fresh = std::make_unique<coro::detail::wait_list<>>();
        if (where.compare_exchange_strong(list, fresh.get()))
            list = fresh.release();
    }
    list->add(std::move(handler));
}

}  // namespace mortise::detail
