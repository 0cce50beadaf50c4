// SPDX-License-Identifier: BSL-1.0
#include "conformance/client_fixture.hpp"
#include "conformance/operation_start.hpp"
#include "mortise/coro/assert.hpp"
#include "mortise/leader_candidate.hpp"
#include "mortise/with_lock.hpp"
#include "support/amount.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace mortise::test {
namespace {
namespace swept_operations {

using namespace std::chrono_literals;

using scene = operation_scene;
using slot_type = asio::cancellation_slot;
using done_function = swept_operation::done_function;

constexpr std::size_t some = 10;

void hold_mine(scene& at) {
    at.hold_mine();
}

void hold_set(scene& at) {
    at.hold_set();
}

void hold_mine_for_a_minute(scene& at) {
    lock_options minute;
    minute.hold_max = 60s;
    at.hold_mine(minute);
}

void lend_door(scene& at) {
    at.lend("door");
}

void hold_what_another_wants(scene& at) {
    at.hold_mine();
    at.be_waited_for();
}

// Breaks "mine" by the other client, which asks again if it gets no answer.
void break_until_broken(store_harness& in, lock_client& other, fencing_token token) {
    const auto broken = [&in, &other, token](error_code code, bool) {
        if (code == errc::outcome_unknown || in.is_by_delay(code))
            break_until_broken(in, other, token);
        else
            EXPECT_FALSE(code) << code.message();
    };
    other.async_break("mine", token, "a sweep", broken);
}

// Lets the other client break "mine" in a moment.
void break_mine(scene& at) {
    const fencing_token token = at.mine ? at.mine.token() : at.mine_all.at("mine").token();
    at.later([&in = at.harness(), &other = at.other(), token] {
        break_until_broken(in, other, token);
    });
}

void lose_mine(scene& at) {
    at.hold_mine();
    break_mine(at);
}

void lose_set(scene& at) {
    at.hold_set();
    break_mine(at);
}

void lend_door_and_see(scene& at) {
    at.lend_and_see("door");
}

void see_a_change(scene& at) {
    at.show_a_change("door");
}

void see_a_change_with_a_session(scene& at) {
    at.hold_mine();
    at.show_a_change("door");
}

// Gives `one` waits of its own, besides what it holds.
void be_busy(scene& at) {
    at.hold_mine();
    at.lend("door");
    at.one().async_acquire("door", lock_options(), [](error_code code, lease) {
        EXPECT_EQ(code, errc::client_stopped);
    });
    at.one().async_acquire("mine", lock_options(), [](error_code code, lease) {
        EXPECT_EQ(code, errc::client_stopped);
    });
}

void release(scene& at, slot_type slot, done_function done) {
    at.mine.async_release(into(at, slot, std::move(done)));
}

void extend(scene& at, slot_type slot, done_function done) {
    at.mine.async_extend(90s, into(at, slot, std::move(done)));
}

// Completes by a post, since such a release has no handler.
void drop(scene& at, slot_type, done_function done) {
    at.drop_mine();
    asio::post(at.harness().executor(), [done = std::move(done)] { done({}); });
}

void release_set(scene& at, slot_type slot, done_function done) {
    at.mine_all.async_release(into(at, slot, std::move(done)));
}

void wait_for_the_loss(scene& at, slot_type slot, done_function done) {
    at.mine.async_wait_lost(into(at, slot, std::move(done)));
}

void wait_for_a_loss_in_the_set(scene& at, slot_type slot, done_function done) {
    at.mine_all.async_wait_lost(into(at, slot, std::move(done)));
}

// Waits for somebody who wants the lock; see `be_wanted_later`.
void wait_for_contention(scene& at, slot_type slot, done_function done) {
    at.mine.async_wait_contended(into(at, slot, std::move(done)));
}

void be_wanted_later(scene& at) {
    at.hold_mine();
    at.want_mine_later();
}

void release_one_of_the_set(scene& at, slot_type slot, done_function done) {
    at.mine_all.async_release_one("mine too", into(at, slot, std::move(done)));
}

// Takes long enough, in real time, to be still under way when the signal comes.
asio::awaitable<void> guard_for_a_while(scene& at) {
    co_await at.mine.guard(pause(at.harness(), 60ms));
}

void guard(scene& at, slot_type slot, done_function done) {
    run(guard_for_a_while(at), at, slot, std::move(done));
}

template <class Held>
auto work_of(scene& at) {
    return [&at](const Held& held) -> asio::awaitable<void> {
        co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
        EXPECT_TRUE(held.held());
        co_await pause(at.harness(), 1ms);
    };
}

asio::awaitable<void> work_under_lock(scene& at) {
    auto work = work_of<lease>(at);
    co_await with_lock(at.one(), "door", lock_options(), work);
}

asio::awaitable<void> work_under_locks(scene& at) {
    auto work = work_of<lease_set>(at);
    std::vector<std::string> names{"gate", "door"};
    co_await with_lock(at.one(), std::move(names), lock_options(), work);
}

asio::awaitable<void> lead_for_a_while(scene& at) {
    auto work = work_of<lease>(at);
    co_await lead(at.one(), "door", election_options(), work);
}

// Resigns after a cancellation, too: nothing of the candidate is left when this ends.
template <class Wait>
asio::awaitable<void> be_candidate(scene& at, Wait wait) {
    leader_candidate who(at.one(), "door");
    std::exception_ptr failure;
    try {
        co_await wait(who);
    } catch (...) {
        failure = std::current_exception();
    }
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await who.async_resign();
    if (failure)
        std::rethrow_exception(failure);
}

asio::awaitable<void> until_elected(leader_candidate& who) {
    const lease_view term = co_await who.async_wait_elected();
    EXPECT_FALSE(term.check());
}

// Tries until the lock is known to be broken: one request looks for the holder, the next one breaks
// it, and each of them can be lost.
void break_door(lock_client& by) {
    by.async_break_holders("door", "a sweep", [&by](error_code code, bool) {
        if (code == errc::outcome_unknown || code == errc::store_unavailable)
            break_door(by);
    });
}

void be_elected(scene& at, slot_type slot, done_function done) {
    run(be_candidate(at, &until_elected), at, slot, std::move(done));
}

void resign(scene& at, slot_type slot, done_function done) {
    const auto who = std::make_shared<leader_candidate>(at.one(), "door");
    const auto done_with = [who, done = std::move(done)](error_code code) { done(code); };
    who->async_resign(asio::bind_cancellation_slot(slot, done_with));
}

void be_deposed(scene& at, slot_type slot, done_function done) {
    const auto until_deposed = [&at](leader_candidate& who) -> asio::awaitable<void> {
        co_await who.async_wait_elected();
        break_door(at.one());
        co_await who.async_wait_deposed();
    };
    run(be_candidate(at, until_deposed), at, slot, std::move(done));
}

void one_lock(scene& at, slot_type slot, done_function done) {
    run(work_under_lock(at), at, slot, std::move(done));
}

void several_locks(scene& at, slot_type slot, done_function done) {
    run(work_under_locks(at), at, slot, std::move(done));
}

void stand(scene& at, slot_type slot, done_function done) {
    run(lead_for_a_while(at), at, slot, std::move(done));
}

void list(scene& at, slot_type slot, done_function done) {
    at.one().async_list("", some, some, into(at, slot, std::move(done)));
}

void inspect(scene& at, slot_type slot, done_function done) {
    at.one().async_inspect("mine", some, into(at, slot, std::move(done)));
}

void break_own(scene& at, slot_type slot, done_function done) {
    const fencing_token token = at.mine.token();
    at.one().async_break("mine", token, "a sweep", into(at, slot, std::move(done)));
}

void break_whoever_holds(scene& at, slot_type slot, done_function done) {
    at.one().async_break_holders("mine", "a sweep", into(at, slot, std::move(done)));
}

void ask_whether_locked(scene& at, slot_type slot, done_function done) {
    at.one().async_is_locked("mine", into(at, slot, std::move(done)));
}

void ask_for_the_time(scene& at, slot_type slot, done_function done) {
    at.one().async_time_left("mine", into(at, slot, std::move(done)));
}

void wait_for_a_change(scene& at, slot_type slot, done_function done) {
    at.one().async_wait_changed("door", at.lent_view, into(at, slot, std::move(done)));
}

void breaks(scene& at, slot_type slot, done_function done) {
    at.one().async_breaks("", some, into(at, slot, std::move(done)));
}

void watch(scene& at, slot_type slot, done_function done) {
    at.one().async_watch(into(at, slot, std::move(done)));
}

void examine(scene& at, slot_type slot, done_function done) {
    at.one().async_examine(into(at, slot, std::move(done)));
}

// Notes the traits that operations need and not every store has.
void note_needs(std::vector<swept_operation>& all) {
    const std::map<std::string, bool store_traits::*> needs{
        {"AcquireSharedWithAReader", &store_traits::shared},
        {"AcquireSharedBehindAWriter", &store_traits::shared},
        {"AcquireBehindAReader", &store_traits::shared},
        {"AcquireAPermit", &store_traits::permits},
        {"AcquireTheLastPermit", &store_traits::permits},
        {"AcquireWithEveryOption", &store_traits::permits},
        {"Breaks", &store_traits::records},
        {"Extend", &store_traits::extend},
        {"WaitForAChange", &store_traits::records},
        {"Watch", &store_traits::records},
        {"WatchWithASession", &store_traits::records}};
    for (swept_operation& each : all) {
        if (const auto found = needs.find(each.name); found != needs.end())
            each.needs = found->second;
    }
}

void stop(scene& at, slot_type slot, done_function done) {
    at.one().async_stop(into(at, slot, std::move(done)));
}

constexpr auto ends_it = cancelled::ends_the_wait;
constexpr auto ignored = cancelled::is_ignored;

std::vector<swept_operation> on_leases() {
    return {
        {"Release", "lease::async_release", ignored, &hold_mine, &release},
        {"Drop", "lease::~lease", ignored, &hold_mine, &drop},
        {"HandOver", "lease::async_release", ignored, &hold_what_another_wants, &release},
        {"Extend", "lease::async_extend", ignored, &hold_mine_for_a_minute, &extend},
        {"ReleaseOfSeveral", "lease_set::async_release", ignored, &hold_set, &release_set},
        {"WaitForTheLoss",
         "lease::async_wait_lost",
         ends_it,
         &lose_mine,
         &wait_for_the_loss,
         errc::lease_lost},
        {"WaitForALossOfSeveral",
         "lease_set::async_wait_lost",
         ends_it,
         &lose_set,
         &wait_for_a_loss_in_the_set,
         errc::lease_lost},
        {"WaitForContention",
         "lease::async_wait_contended",
         ends_it,
         &be_wanted_later,
         &wait_for_contention},
        {"ReleaseOfOne",
         "lease_set::async_release_one",
         ignored,
         &hold_set,
         &release_one_of_the_set},
        {"Guard", "lease::guard", ends_it, &hold_mine, &guard},
        {"WithLock", "with_lock", ends_it, nullptr, &one_lock},
        {"WithATakenLock", "with_lock", ends_it, &lend_door, &one_lock},
        {"WithLocks", "with_lock", ends_it, nullptr, &several_locks},
        {"Lead", "lead", ends_it, nullptr, &stand},
        {"LeadAfterAnother", "lead", ends_it, &lend_door, &stand},
        {"Stop", "lock_client::async_stop", ignored, nullptr, &stop},
        {"StopInTheMiddle", "lock_client::async_stop", ignored, &be_busy, &stop},
    };
}

std::vector<swept_operation> elections() {
    return {
        {"BeElected", "leader_candidate::async_wait_elected", ends_it, &lend_door, &be_elected},
        {"BeDeposed",
         "leader_candidate::async_wait_deposed",
         ends_it,
         nullptr,
         &be_deposed,
         errc::lease_lost},
        {"Resign", "leader_candidate::async_resign", ignored, &lend_door, &resign},
    };
}

std::vector<swept_operation> questions() {
    return {
        {"BreakHolders",
         "lock_client::async_break_holders",
         ignored,
         &hold_mine,
         &break_whoever_holds},
        {"IsLocked", "lock_client::async_is_locked", ignored, &hold_mine, &ask_whether_locked},
        {"TimeLeft", "lock_client::async_time_left", ignored, &hold_mine, &ask_for_the_time},
        {"WaitForAChange",
         "lock_client::async_wait_changed",
         ends_it,
         &lend_door_and_see,
         &wait_for_a_change},
        {"List", "lock_client::async_list", ignored, &hold_mine, &list},
        {"Inspect", "lock_client::async_inspect", ignored, &hold_mine, &inspect},
        {"Break", "lock_client::async_break", ignored, &hold_mine, &break_own},
        {"BreakForAnother",
         "lock_client::async_break",
         ignored,
         &hold_what_another_wants,
         &break_own},
        {"Breaks", "lock_client::async_breaks", ignored, nullptr, &breaks},
        {"Watch", "lock_client::async_watch", ends_it, &see_a_change, &watch},
        {"WatchWithASession",
         "lock_client::async_watch",
         ends_it,
         &see_a_change_with_a_session,
         &watch},
        {"Examine", "lock_client::async_examine", ignored, nullptr, &examine},
    };
}

}  // namespace swept_operations
}  // namespace

std::vector<swept_operation> all_operations() {
    using namespace swept_operations;
    std::vector<swept_operation> all = all_acquires();
    std::vector<swept_operation> others = on_leases();
    for (auto& group : {elections(), questions()})
        others.insert(others.end(), group.begin(), group.end());
    // These need a message about what the other client does, or about what is done to it.
    const std::set<std::string> names{
        "BeDeposed",
        "BeElected",
        "BreakForAnother",
        "HandOver",
        "LeadAfterAnother",
        "WaitForALossOfSeveral",
        "WaitForAChange",
        "WaitForTheLoss",
        "Watch",
        "WatchWithASession",
        "WithATakenLock"};
    for (swept_operation& each : others)
        each.needs_push = names.contains(each.name);
    all.insert(all.end(), others.begin(), others.end());
    note_needs(all);
    return all;
}

std::vector<swept_operation>
operations_at(const store_abilities& abilities, const std::set<std::string>& chosen) {
    std::vector<swept_operation> all = all_operations();
    const auto known = std::count_if(all.begin(), all.end(), [&](const swept_operation& each) {
        return chosen.contains(each.name);
    });
    MORTISE_ASSERT(static_cast<std::size_t>(known) == chosen.size());
    std::erase_if(all, [&](const swept_operation& each) {
        return each.needs != nullptr && !(abilities.traits.*each.needs);
    });
    if (!abilities.simulated_elsewhere || amount("MORTISE_SWEEP_ALL", 0, 1) != 0)
        return all;
    std::erase_if(all, [&](const swept_operation& each) { return !chosen.contains(each.name); });
    for (swept_operation& each : all)
        each.signals = 1;
    return all;
}

}  // namespace mortise::test
