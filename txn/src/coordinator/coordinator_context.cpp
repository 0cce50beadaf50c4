// SPDX-License-Identifier: BSL-1.0
#include "coordinator/coordinator_context.hpp"

#include "coordinator/coordinator_core.hpp"
#include "mortise/detail/defaults.hpp"
#include "mortise/detail/require.hpp"
#include "mortise/options.hpp"

#include <chrono>
#include <utility>

namespace mortise::txn::detail {
namespace {

using mortise::detail::require;
using mortise::detail::require_retry_limits;
using std::chrono::milliseconds;

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
    require_retry_limits(config.retry_first, config.retry_max);
    require(
        config.breaker_failures >= 1 && config.breaker_failures <= 1'000'000,
        "breaker_failures",
        "use 1 to 1,000,000"
    );
    require(
        config.open_max >= 1 && config.open_max <= 10'000'000, "open_max", "use 1 to 10,000,000"
    );
    require(config.waiting_max <= 10'000'000, "waiting_max", "use up to 10,000,000");
    require(config.stuck_max <= 10'000'000, "stuck_max", "use up to 10,000,000");
    require(config.payload_max <= 64u << 20, "payload_max", "use up to 64 MiB");
    for (const auto span :
         {config.prepared_look_first, config.prepared_look_max, config.prepared_max}) {
        require(
            span >= milliseconds(1) && span <= day,
            "prepared_look_first, prepared_look_max, prepared_max",
            "use one millisecond to one day"
        );
    }
    require(
        config.prepared_look_first <= config.prepared_look_max,
        "prepared_look_first, prepared_look_max",
        "the first is not above the last"
    );
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

coordinator_context::coordinator_context(asio::any_io_executor executor, coordinator_config config)
    : seat_(std::move(executor)),
      config_(checked(std::move(config))),
      time_(mortise::detail::time_or_real(config_.time, seat_.executor())) {}

bool coordinator_context::take(const std::shared_ptr<coordinator_core>& owner) {
    owner_ = owner;
    return seat_.take(owner);
}

void coordinator_context::clear_timers() {
    deadlines_.clear();
    alarm_.cancel();
}

txn_event coordinator_context::event_of(txn_event::kind kind, const running& transaction) const {
    txn_event event;
    event.type = kind;
    event.gid = transaction.gid;
    event.partition = transaction.home->id;
    if (transaction.proof)
        event.at = transaction.proof->confirm() ? standing::confirmed : standing::cancelled;
    if (event.at != standing::confirmed)
        event.code = transaction.why;
    event.took = now() - transaction.since;
    return event;
}

void coordinator_context::report(
    txn_event::kind kind, const running& transaction, branch_number branch
) const {
    auto event = event_of(kind, transaction);
    event.branch = branch;
    if (branch != 0)
        event.participant = transaction.plan->branches[branch - 1].participant;
    report(event);
}

void coordinator_context::report(txn_event::kind kind, const partition& at, error_code why) const {
    txn_event event;
    event.type = kind;
    event.partition = at.id;
    event.code = why;
    report(event);
}

void coordinator_context::arm() {
    const auto next = deadlines_.next();
    if (closed_)
        return;
    if (next == clock::time_point::max())
        return alarm_.cancel();  // keep nothing that would keep the context at work
    if (alarm_.is_set() && armed_for_ <= next)
        return;
    armed_for_ = next;
    alarm_.set(*time_, strand(), next, [this, weak = owner_] {
        if (const auto kept = weak.lock())
            on_alarm();
    });
}

void coordinator_context::on_alarm() {
    if (closed_)
        return;
    const auto at = now();
    while (const auto due = deadlines_.take_due(at))
        due();
    arm();
}

coordinator_stats coordinator_context::stats() const noexcept {
    coordinator_stats now;
    now.begun = count.begun;
    now.confirmed = count.confirmed;
    now.cancelled = count.cancelled;
    now.ended = count.ended;
    now.calls = count.calls;
    now.calls_failed = count.calls_failed;
    now.taken_up = count.taken_up;
    now.stuck = count.stuck;
    now.suspicious = count.suspicious;
    now.open = count.open;
    now.forgotten = count.forgotten;
    now.partitions = count.partitions;
    now.participants_broken = count.broken;
    now.prepared = count.prepared;
    now.prepared_oldest_ms = count.prepared_oldest_ms;
    now.orphans_ended = count.orphans_ended;
    now.orphans_left = count.orphans_left;
    return now;
}

}  // namespace mortise::txn::detail
