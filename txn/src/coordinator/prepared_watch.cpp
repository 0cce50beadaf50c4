// SPDX-License-Identifier: BSL-1.0
#include "coordinator/prepared_watch.hpp"

#include "coordinator/coordinator_core.hpp"
#include "log/log_entries.hpp"
#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/txn/call.hpp"
#include "planted_bugs.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace mortise::txn::detail {
namespace {

using std::chrono::milliseconds;
using prepared_list = std::vector<prepared_branch>;

// Keeps the participant alive while it works on the call.
asio::awaitable<result<prepared_list>> list(std::shared_ptr<participant> at, std::uint64_t log) {
    auto listing = at->list_prepared(log);
    co_return co_await std::move(listing);
}

error_code code_of(const std::exception_ptr& thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (const boost::system::system_error& failed) {
        return failed.code();
    } catch (...) {
        return errc::call_failed;
    }
}

}  // namespace

prepared_watch::prepared_watch(coordinator_core& core, coordinator_context& context)
    : coordinator_part(core, context) {
    for (const auto& [name, client] : context.config().participants) {
        if (client->prepares())
            places_.push_back({name, client, 0, false});
    }
}

void prepared_watch::begin() {
    if (places_.empty())
        return;
    pause_ = context_.config().prepared_look_first;
    again_ = looking_;
    if (!looking_)
        plan(context_.now());
}

void prepared_watch::stop() noexcept {
    flight_ = 0;
    looking_ = false;
    if (const auto call = std::exchange(call_, nullptr))
        call->emit();
}

void prepared_watch::plan(clock::time_point when) {
    context_.clear_timer(timer_);
    context_.set_timer(timer_, when, [this] { look(); });
    context_.arm();
}

void prepared_watch::plan_next() {
    looking_ = false;
    if (std::exchange(again_, false))
        return plan(context_.now());
    const auto usual = coro::saturating_add(context_.now(), pause_);
    pause_ = std::min<clock::duration>(pause_ * 2, context_.config().prepared_look_max);
    plan(std::min(usual, overdue_at_));
}

void prepared_watch::look() {
    timer_.reset();
    if (context_.stopping() || !core_.log.is_open() || core_.partitions.owned() == 0) {
        known_.clear();
        return count();  // the next partition that is taken over begins again
    }
    looking_ = true;
    ++looks_;
    at_ = 0;
    overdue_at_ = clock::time_point::max();
    look_at_next();
}

// A participant that gives no answer is asked again by the next look.
void prepared_watch::look_at_next() {
    if (context_.stopping() || !core_.log.is_open())
        return stop();
    if (at_ == places_.size())
        return end_look();
    auto listing = list(places_[at_].client, *core_.log.id());
    call_client(std::move(listing), [this](const result<prepared_list>& listed) {
        if (listed)
            return judge(note(*listed));
        report_failure(listed.error());
        ++at_;
        look_at_next();
    });
}

/// Makes one call of the participant at hand.
template <class T, class Then>
void prepared_watch::call_client(asio::awaitable<result<T>> call, Then then) {
    const auto flight = ++flights_;
    flight_ = flight;
    call_ = std::make_shared<call_stop>(context_.executor());
    const auto answered = [this, flight, then = std::move(then)](const result<T>& got) {
        if (context_.closed() || flight_ != flight)
            return;  // it was given up
        flight_ = 0;
        context_.clear_timer(call_timer_);
        call_ = nullptr;
        then(got);
    };
    const auto limit = coro::saturating_add(context_.now(), context_.config().call_max);
    context_.set_timer(call_timer_, limit, [stop = call_, answered] {
        stop->emit();
        answered(error_code(errc::call_too_late));
    });
    asio::co_spawn(
        call_->strand(),
        std::move(call),
        asio::bind_cancellation_slot(
            call_->slot(),
            asio::bind_executor(
                context_.strand(),
                [kept = context_.keep(), stop = call_, answered](
                    const std::exception_ptr& thrown, const result<T>& got
                ) { answered(thrown ? result<T>(code_of(thrown)) : got); }
            )
        )
    );
    context_.arm();
}

// The database may not know ages, or its clock may have been set: what was seen here counts, too.
// Participants of one database list the same branches.
std::vector<prepared_watch::finding> prepared_watch::note(const prepared_list& listed) {
    places_[at_].listed = looks_;
    places_[at_].failed = false;
    std::vector<finding> found;
    for (const auto& each : listed) {
        auto [at, is_new] = known_.try_emplace({each.gid.number, each.term, each.branch});
        auto& one = at->second;
        if (is_new)
            one.first = context_.now();
        one.branch = each;
        one.place = at_;
        one.look = looks_;
        one.age = std::max<clock::duration>(
            context_.now() - one.first, each.age.value_or(milliseconds(0))
        );
        found.push_back(one);
    }
    return found;
}

void prepared_watch::judge(std::vector<finding> found) {
    MORTISE_CRASH_POINT("txn.prepared_listed");
    if (!core_.log.is_open())
        return stop();
    auto reading = [found = std::move(found)](db::connection& on) {
        auto judged = found;
        for (auto& each : judged)
            each.at = log::log_entries::standing_of(on, each.branch);
        return judged;
    };
    core_.log->ask(
        std::move(reading),
        core_.log.bound([this,
                         kept = context_.keep(),
                         look = looks_](error_code failed, std::vector<finding> judged) {
            if (context_.closed() || !looking_ || look != looks_)
                return;
            if (failed)
                return plan_next();
            for (auto& each : judged)
                planted_bugs::forget_elsewhere(core_, each.branch.gid, each.at);
            end_orphans(std::make_shared<const std::vector<finding>>(orphans_of(judged)), 0);
        })
    );
}

/// Reports what people must see.
/// @return the branches to roll back.
std::vector<prepared_watch::finding> prepared_watch::orphans_of(const std::vector<finding>& judged
) {
    std::vector<finding> orphans;
    for (const auto& each : judged) {
        auto& known = known_.at({each.branch.gid.number, each.branch.term, each.branch.branch});
        known.at = each.at;
        if (known.age >= context_.config().prepared_max &&
            !std::exchange(known.reported_long, true))
            report(txn_event::kind::prepared_long, known);
        const auto fate = fate_of(known.at, known.age >= context_.config().deadline);
        const bool left = fate == prepared_fate::report;
        if (!std::exchange(known.left, left) && left)
            report(txn_event::kind::orphan_left, known);
        if (fate == prepared_fate::roll_back)
            orphans.push_back(known);
        if (fate == prepared_fate::wait)
            overdue_at_ =
                std::min(overdue_at_, context_.now() + (context_.config().deadline - known.age));
    }
    return orphans;
}

// The cancel of the branch is that of the coordinator which prepared it: the participant also
// remembers it, for a try that is still on its way.
void prepared_watch::end_orphans(
    const std::shared_ptr<const std::vector<finding>>& orphans, std::size_t next
) {
    if (context_.stopping())
        return stop();
    if (next == orphans->size()) {
        ++at_;
        return look_at_next();
    }
    const auto& orphan = orphans->at(next).branch;
    call cancel;
    cancel.type = operation::cancel;
    cancel.gid = orphan.gid;
    cancel.branch = orphan.branch;
    cancel.attempt = 1;
    cancel.term = orphan.term;
    cancel.participant = places_[at_].name;
    auto cancelling = carry(places_[at_].client, std::move(cancel));
    call_client(std::move(cancelling), [this, orphans, next](const result<reply>& got) {
        if (got && got->type == reply::verdict::done) {
            ++context_.count.orphans_ended;
            report(txn_event::kind::orphan_ended, orphans->at(next));
        }
        end_orphans(orphans, next + 1);
    });
}

// What a participant did not list may still be prepared, if it gave no answer.
void prepared_watch::end_look() {
    std::erase_if(known_, [this](const auto& each) {
        return each.second.look != looks_ && places_[each.second.place].listed == looks_;
    });
    count();
    plan_next();
}

void prepared_watch::count() {
    clock::duration oldest{0};
    std::uint64_t left = 0;
    for (const auto& [key, each] : known_) {
        oldest = std::max(oldest, each.age);
        left += each.left ? 1 : 0;
    }
    context_.count.prepared = known_.size();
    context_.count.prepared_oldest_ms =
        static_cast<std::uint64_t>(std::chrono::duration_cast<milliseconds>(oldest).count());
    context_.count.orphans_left = left;
}

// Once, until it answers again.
void prepared_watch::report_failure(error_code why) {
    if (std::exchange(places_[at_].failed, true))
        return;
    txn_event event;
    event.type = txn_event::kind::list_failed;
    event.participant = places_[at_].name;
    event.code = why;
    context_.report(event);
}

void prepared_watch::report(txn_event::kind kind, const finding& of) const {
    txn_event event;
    event.type = kind;
    event.gid = of.branch.gid;
    event.branch = of.branch.branch;
    event.participant = places_[of.place].name;
    event.at = of.at == prepared_standing::confirmed   ? standing::confirmed
               : of.at == prepared_standing::cancelled ? standing::cancelled
                                                       : standing::open;
    event.took = of.age;
    context_.report(event);
}

}  // namespace mortise::txn::detail
