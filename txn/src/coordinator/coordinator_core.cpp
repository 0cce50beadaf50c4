// SPDX-License-Identifier: BSL-1.0
#include "coordinator/coordinator_core.hpp"

#include "log/limits.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/detail/real_time.hpp"
#include "mortise/detail/require.hpp"
#include "mortise/options.hpp"
#include "mortise/store_types.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace mortise::txn::detail {
namespace {

using mortise::detail::require;
using std::chrono::milliseconds;

constexpr milliseconds asked_floor_max{1'000};

coordinator_config checked(coordinator_config config) {
    constexpr milliseconds day = std::chrono::hours(24);
    require(!config.log.empty(), "log", "name a file for the log");
    require(
        config.deadline >= milliseconds(1) && config.deadline <= day,
        "deadline",
        "use one millisecond to one day"
    );
    require(
        config.call_max >= milliseconds(1) && config.call_max <= std::chrono::hours(1),
        "call_max",
        "use one millisecond to one hour"
    );
    require(
        config.try_attempts_max >= 1 && config.try_attempts_max <= 1'000,
        "try_attempts_max",
        "use 1 to 1,000"
    );
    require(
        config.retry_first >= milliseconds(1) && config.retry_max >= config.retry_first &&
            config.retry_max <= day,
        "retry_first, retry_max",
        "use one millisecond to one day, the first not above the last"
    );
    require(
        config.breaker_failures >= 1 && config.breaker_failures <= 1'000'000,
        "breaker_failures",
        "use 1 to 1,000,000"
    );
    require(
        config.open_max >= 1 && config.open_max <= 10'000'000, "open_max", "use 1 to 10,000,000"
    );
    require(config.stuck_max <= 10'000'000, "stuck_max", "use up to 10,000,000");
    require(config.payload_max <= 64u << 20, "payload_max", "use up to 64 MiB");
    require(
        config.retention >= milliseconds(0) && config.retention <= duration_max,
        "retention",
        "use zero to a hundred years"
    );
    require(
        config.stop_max >= milliseconds(1) && config.stop_max <= std::chrono::hours(1),
        "stop_max",
        "use one millisecond to one hour"
    );
    require(config.partitions >= 1 && config.partitions <= 256, "partitions", "use 1 to 256");
    for (const auto& [name, who] : config.participants)
        require(who != nullptr && !name.empty(), "participants", "give each a name and an object");
    return config;
}

}  // namespace

coordinator_core::coordinator_core(asio::any_io_executor executor, coordinator_config config)
    : seat_(std::move(executor)),
      config_(checked(std::move(config))),
      time_(config_.time ? config_.time : mortise::detail::make_real_time(seat_.executor())),
      jitter_(static_cast<std::minstd_rand::result_type>(
          config_.jitter_seed != 0 ? config_.jitter_seed : random_id::draw().low
      )) {
    for (const auto& [name, who] : config_.participants) {
        const auto calls_max = std::max<std::size_t>(who->calls_at_once(), 1);
        lanes_.try_emplace(name, lane(calls_max, config_.breaker_failures, config_.retry_max), who);
    }
    log_ = std::make_unique<log::decision_log>(seat_.strand(), config_);
}

coordinator_core::~coordinator_core() = default;

void coordinator_core::attach() {
    if (!seat_.take(shared_from_this()))
        return shut_down();
    asio::dispatch(seat_.strand(), [self = shared_from_this()] { self->open_log(); });
}

// The context is being destroyed: drop every handler, post nothing, ask nobody.
void coordinator_core::shut_down() noexcept {
    if (seat_.forked())
        return;
    closed_ = true;
    deadlines_.clear();
    alarm_.cancel();
    const auto open = std::exchange(open_, {});
    const auto early = std::exchange(early_, {});
    const auto settlers = std::exchange(early_settlers_, {});
    const auto stoppers = std::exchange(stoppers_, {});
    for (const auto& each : partitions_)
        each->left.close();
    for (auto& [name, each] : lanes_)
        each.queue.clear();
    bell_.reset();
    log_.reset();
    seat_.leave();
}

void coordinator_core::close() noexcept {
    coro::detail::wait_service::unlink(*this);
    if (seat_.deserted())
        return;
    asio::dispatch(seat_.strand(), [self = shared_from_this()] { self->close_now(); });
}

error_code coordinator_core::check(const transaction& transaction) const {
    const auto& branches = transaction.branches();
    if (branches.empty())
        return errc::no_branches;
    if (branches.size() > log::branches_max)
        return errc::too_many_branches;
    if (transaction.keyed() &&
        (transaction.key().empty() || transaction.key().size() > log::key_max))
        return errc::bad_key;
    if (transaction.deadline() < milliseconds(0))
        return mortise::errc::duration_negative;
    for (std::size_t i = 0; i < branches.size(); ++i) {
        if (!lanes_.contains(branches[i].participant))
            return errc::unknown_participant;
        if (branches[i].payload.size() > config_.payload_max)
            return errc::payload_too_large;
        for (const auto before : branches[i].after) {
            if (before == 0 || before > i)
                return errc::bad_order;
        }
    }
    return {};
}

error_code coordinator_core::unusable() const {
    if (closed_ || stopping_)
        return errc::stopped;
    return no_term_ ? no_term_ : error_code(errc::standby);
}

txn_event coordinator_core::event_of(txn_event::kind kind, const running& transaction) const {
    txn_event event;
    event.what = kind;
    event.gid = transaction.gid;
    event.partition = transaction.home->id;
    if (transaction.proof)
        event.at = transaction.proof->confirm() ? standing::confirmed : standing::cancelled;
    if (event.at != standing::confirmed)
        event.code = transaction.why;
    event.took = now() - transaction.since;
    return event;
}

void coordinator_core::tell_of(
    txn_event::kind kind, const running& transaction, branch_number branch
) const {
    auto event = event_of(kind, transaction);
    event.branch = branch;
    if (branch != 0)
        event.participant = transaction.plan->branches[branch - 1].participant;
    tell(event);
}

void coordinator_core::tell_of(txn_event::kind kind, const partition& at, error_code why) const {
    txn_event event;
    event.what = kind;
    event.partition = at.id;
    event.code = why;
    tell(event);
}

// Lets a transaction go, which others will finish. The caller removes its entry in `open_`.
void coordinator_core::drop(const running_ptr& transaction, error_code why) {
    auto event = event_of(txn_event::kind::let_go, *transaction);
    event.code = why;
    tell(event);
    release(transaction, why);
}

void coordinator_core::release(const running_ptr& transaction, error_code why) {
    deadlines_.clear(transaction->timer);
    for (std::size_t i = 0; i < transaction->branches.size(); ++i) {
        auto& each = transaction->branches[i];
        deadlines_.clear(each.timer);
        if (each.flight != 0)
            lanes_.find(transaction->plan->branches[i].participant)->second.judge.given_up();
        each.flight = 0;
        each.queued = false;
        pays(*transaction, i);
        if (each.stop)
            each.stop->emit();
    }
    forget(*transaction);
    --count_.open;
    transaction->home->undecided -= std::exchange(transaction->undecided, false);
    answer(transaction->waiters, {}, outcome(outcome::kind::unknown, transaction->gid, why));
    answer(transaction->settlers, why, outcome_of(*transaction));
}

// Takes a transaction out of the counters of the open ones.
void coordinator_core::forget(running& transaction) {
    resumed_ -= transaction.resumed;
    slow_ -= transaction.slow;
    waits_for_people(transaction, false);
    no_longer_suspect(transaction);
}

void coordinator_core::drop_all(error_code why) {
    for (const auto& [number, transaction] : std::exchange(open_, {}))
        drop(transaction, why);
    drop_early(why);
}

void coordinator_core::drop_early(error_code why) {
    opening_ = false;
    deadlines_.clear(early_timer_);
    for (const auto& transaction : std::exchange(early_, {}))
        answer(transaction->waiters, why, outcome());
    for (const auto& each : std::exchange(early_settlers_, {}))
        each->answer(why, outcome(outcome::kind::unknown, each->gid));
}

void coordinator_core::arm() {
    const auto next = deadlines_.next();
    if (closed_)
        return;
    if (next == clock::time_point::max())
        return alarm_.cancel();  // keep nothing that would keep the context at work
    if (alarm_.is_set() && armed_for_ <= next)
        return;
    armed_for_ = next;
    alarm_.set(*time_, seat_.strand(), next, [weak = weak_from_this()] {
        if (const auto self = weak.lock())
            self->on_alarm();
    });
}

void coordinator_core::on_alarm() {
    if (closed_)
        return;
    const auto at = now();
    while (const auto due = deadlines_.take_due(at))
        due();
    arm();
}

// Draws a random pause below a bound that doubles: calls that failed together do not come back
// together, and none comes back at once.
clock::duration coordinator_core::pause_after(std::uint32_t attempts) {
    const auto doublings = std::min(attempts > 0 ? attempts - 1 : 0, 30u);
    const auto first = std::chrono::duration_cast<std::chrono::microseconds>(config_.retry_first);
    const auto most = std::chrono::duration_cast<std::chrono::microseconds>(config_.retry_max);
    const auto bound = std::min<std::chrono::microseconds::rep>(
        most.count(), first.count() << std::min(doublings, 20u)
    );
    const auto least = std::min(bound, first.count()) / 4;
    std::uniform_int_distribution<std::chrono::microseconds::rep> draw(least, bound);
    return std::chrono::microseconds(draw(jitter_));
}

clock::duration
coordinator_core::pause_asked_for(milliseconds by_it, std::uint32_t times) const noexcept {
    const auto doublings = std::min(times > 0 ? times - 1 : 0, 20u);
    const auto floor = std::clamp(
        milliseconds(config_.retry_first.count() << doublings),
        config_.retry_first,
        std::max(config_.retry_first, asked_floor_max)
    );
    return std::clamp(by_it, floor, std::max(floor, asked_pause_max));
}

coordinator_stats coordinator_core::stats() const noexcept {
    coordinator_stats now;
    now.begun = count_.begun;
    now.confirmed = count_.confirmed;
    now.cancelled = count_.cancelled;
    now.ended = count_.ended;
    now.calls = count_.calls;
    now.calls_failed = count_.calls_failed;
    now.taken_up = count_.taken_up;
    now.stuck = count_.stuck;
    now.suspicious = count_.suspicious;
    now.open = count_.open;
    now.forgotten = count_.forgotten;
    now.partitions = count_.partitions;
    now.participants_broken = count_.broken;
    return now;
}

void running::on_cancel(asio::cancellation_type_t) {
    if (const auto core = of.lock())
        core->withdraw(*this);
}

}  // namespace mortise::txn::detail
