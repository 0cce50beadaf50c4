// SPDX-License-Identifier: BSL-1.0
#include "client/local_locks.hpp"

#include "client/client_core.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>

#include <algorithm>
#include <utility>

namespace mortise::detail {
namespace {

// Why an acquire fails before the store is asked; no error if nothing is wrong with it.
error_code
refusal(const std::string& name, const lock_options& options, const store_traits& store) {
    if (const auto wrong = check_name(name))
        return wrong->code();
    if (const auto wrong = check_options(options))
        return wrong->code();
    const auto mode = options.mode.type();
    const bool known = mode == lock_mode::kind::exclusive ? store.exclusive
                       : mode == lock_mode::kind::shared  ? store.shared
                                                          : store.permits;
    const bool endless = options.hold_max == std::chrono::milliseconds::max();
    return known && (endless || store.hold_max) ? error_code() : error_code(errc::unsupported);
}

// The completions of a client under way on this thread. A completion whose executor's context has
// ended destroys the handler and the lease in it, which can complete the next waiter. Such nested
// completions join the list of the outer call: a long queue must not become a deep stack.
struct completions {
    const local_locks* of = nullptr;
    waiter_list* list = nullptr;
};
thread_local completions under_way;

queue_rules rules_of(const client_context& context) {
    const auto& config = context.config();
    return {
        context.home(),
        config.turn_handoffs_max,
        config.turn_time_max,
        config.local_handoff,
        config.holds_max,
        context.timing().stop_margin};
}

}  // namespace

local_locks::local_locks(client_core& core, client_context& context)
    : client_part(core, context), table_(rules_of(context), context.config().waiters_max) {}

void local_locks::acquire(
    std::string name, lock_options options, bool queues, local_waiter::handler_type handler
) {
    // A try does not use `wait_max`, so no value of it is refused.
    if (!queues)
        options.wait_max = std::chrono::milliseconds::max();
    queue_work work;
    start(std::move(name), make_waiter(options, queues, std::move(handler)), work);
    carry_out(std::move(work));
}

std::shared_ptr<local_waiter> local_locks::make_waiter(
    const lock_options& options, bool queues, local_waiter::handler_type handler
) {
    const auto waiter = std::make_shared<local_waiter>(
        context_.home()->core,
        options,
        queues && options.wait_max != std::chrono::milliseconds::zero(),
        std::move(handler)
    );
    context_.count.add(&client_stats::waiting);
    if (context_.observed())
        waiter->since = context_.now();
    return waiter;
}

void local_locks::start(
    std::string name, const std::shared_ptr<local_waiter>& waiter, queue_work& work
) {
    const error_code refused = context_.forked()
                                   ? error_code(errc::forked)
                                   : refusal(name, waiter->options, context_.traits());
    if (refused) {
        waiter->code = refused;
        work.done.push(waiter);
        return;
    }
    waiter->listen();
    if (const auto queue = table_.acquire(std::move(name), waiter, work))
        context_.tell({.type = lock_event::kind::waiting, .name = *queue->name()});
}

std::size_t local_locks::acquire_in_order(
    std::span<const std::string> names, const lock_options& options, const handler_maker& then
) {
    constexpr std::size_t together_max = 64;  // The store does nothing else meanwhile.
    queue_work work;
    start(names.front(), make_waiter(options, true, then(0)), work);
    const auto asks = [](const auto& each) { return each.type == strand_task::kind::ask; };
    const bool together = names.size() > 1 && !work.tasks.empty() && asks(work.tasks.front()) &&
                          context_.traits().request_in_order;
    const std::size_t most = together ? std::min(names.size(), together_max) : 1;
    std::size_t count = 1;
    while (count < most && !check_name(names[count])) {
        const auto waiter = make_waiter(options, true, then(count));
        waiter->listen();
        if (!table_.acquire_behind(names[count], waiter, work)) {
            context_.count.add(&client_stats::waiting, -1);
            break;
        }
        ++count;
    }
    carry_out(std::move(work));
    return count;
}

void local_locks::cancel(local_waiter& waiter, error_code why) {
    if (context_.forked())
        return;
    queue_work work;
    table_.cancel(waiter, why, work);
    carry_out(std::move(work));
}

void local_locks::release(const std::shared_ptr<held_grant>& held, release_handler handler) {
    if (context_.forked())  // The mutex may be locked for ever, and the connection is the parent's.
        return handler.complete(errc::forked);
    if (!held->take_for_release()) {
        table_.let_go(*held);
        handler.complete(held->check());
        return;
    }
    held->end_waiting(errc::lease_released);
    queue_work work;
    const auto outcome = table_.release(*held, handler, false, work);
    count_release(*held, outcome, false);
    carry_out(std::move(work));
    // `was_gone`: the session was lost, or the client stopped, after `take_for_release`.
    if (handler)
        handler.complete(
            outcome == lock_queue::release_outcome::was_gone ? held->why() : error_code()
        );
}

void local_locks::release_late(const std::shared_ptr<held_grant>& held) noexcept {
    if (context_.forked())
        return;
    if (context_.ended())
        return table_.forget(*held);
    if (!held->take_for_release())
        return table_.let_go(*held);
    held->end_waiting(errc::lease_released);
    queue_work work;
    release_handler nobody;
    const auto outcome = table_.release(*held, nobody, true, work);
    count_release(*held, outcome, true);
    carry_out(std::move(work));
}

// Counts a release. A grant that goes back to the store counts as released once the store has it.
void local_locks::count_release(
    const held_grant& held, lock_queue::release_outcome outcome, bool late
) noexcept {
    if (outcome == lock_queue::release_outcome::was_gone)
        return;
    context_.tell(lock_event::kind::released, held);
    context_.count.add(&client_stats::leases, -1);
    if (outcome == lock_queue::release_outcome::to_store)
        return;
    context_.count.add(&client_stats::released);
    if (late)
        context_.count.add(&client_stats::released_late);
}

void local_locks::wait_lost(std::shared_ptr<held_grant> held, lease_handler handler) {
    if (context_.ended())
        return handler.complete(errc::client_stopped);
    // Begin the wait in the initiating call, or a cancellation that follows at once is missed.
    // Check the lease after that, on the strand where the alarm is raised, so that no alarm falls
    // between the two.
    held->wait_lost(std::move(handler));
    asio::dispatch(context_.strand(), [this, kept = context_.keep(), held = std::move(held)] {
        const auto& keeper = core_.sessions.of(held->of()).keeper;
        if (const error_code lost = held->check())
            held->end_waiting(lost);
        else if (keeper.warned() || context_.now() >= held->end_alarm())
            held->end_waiting(errc::lease_expired);
    });
}

// Begins the wait before the check, for the same reason. It needs no strand: the table knows from
// any thread who waits for the lock.
void local_locks::wait_contended(const std::shared_ptr<held_grant>& held, lease_handler handler) {
    if (context_.forked())
        return handler.complete(errc::forked);
    if (context_.ended())
        return handler.complete(errc::client_stopped);
    held->wait_contended(std::move(handler));
    const bool waits = table_.watch(*held);
    if (const error_code lost = held->check(); lost || !waits)
        held->end_contended(lost);
}

void local_locks::extend(
    std::shared_ptr<held_grant> held, std::chrono::milliseconds hold_max, lease_handler handler
) {
    if (context_.forked())
        return handler.complete(errc::forked);
    if (context_.ended())
        return handler.complete(errc::client_stopped);
    lock_options wanted;
    wanted.hold_max = hold_max;
    if (const auto wrong = check_options(wanted))
        return handler.complete(wrong->code());
    asio::dispatch(
        context_.strand(),
        [this,
         kept = context_.keep(),
         held = std::move(held),
         hold_max,
         handler = std::move(handler)]() mutable {
            const error_code wrong = held->check();
            const bool at_store = !held->root;
            if (wrong) {
                handler.complete(wrong);
            } else if (at_store && !(held->of().ends_by_itself() && context_.traits().extend)) {
                handler.complete(errc::unsupported);
            } else if (at_store) {
                auto& ends = core_.sessions.of(held->of()).ends;
                ends.extend(std::move(held), hold_max, std::move(handler));
            } else {
                extend_own(held, hold_max);
                handler.complete({});
            }
        }
    );
}

// Of a reentrant lease, the store knows only its grant.
void local_locks::extend_own(
    const std::shared_ptr<held_grant>& held, std::chrono::milliseconds hold_max
) {
    if (hold_max == std::chrono::milliseconds::max())
        held->own_end.set({});
    else
        held->own_end.set(hold_end::after(context_.now(), hold_max, context_.timing().stop_margin));
    end_hold_at(held);
    if (held->state() == lease_state::released) {
        // Another thread has released it, and may have seen no end to clear the timers of.
        context_.clear_timer(held->alarm);
        context_.clear_timer(held->timer);
    }
    core_.arm();
}

bool local_locks::wanted(const held_grant& held) const {
    return !context_.forked() && table_.wanted(held.of());
}

void local_locks::carry_out(queue_work work) {
    for (const auto& each : std::exchange(work.contended, {}))
        each->end_contended({});
    if (!work.tasks.empty() && !context_.ended()) {
        asio::dispatch(
            context_.strand(),
            [this, kept = context_.keep(), tasks = std::move(work.tasks)] { run(tasks); }
        );
    }
    if (under_way.of == this) {
        while (!work.done.empty())
            under_way.list->push(work.done.pop());
        return;
    }
    const completions outer = std::exchange(under_way, {this, &work.done});
    while (!work.done.empty())
        complete(work.done.pop());
    under_way = outer;
}

void local_locks::complete(const std::shared_ptr<local_waiter>& waiter) {
    context_.count.add(&client_stats::waiting, -1);
    if (waiter->code == errc::busy)
        waiter->code = reason_of(*waiter);
    if (waiter->code == not_asked())
        return waiter->complete();
    if (!waiter->code) {
        context_.count.add(&client_stats::granted);
        context_.count.add(&client_stats::leases);
    } else if (waiter->code == errc::busy) {
        context_.count.add(&client_stats::busy);
    } else if (waiter->code == asio::error::operation_aborted) {
        context_.count.add(&client_stats::cancelled);
    } else {
        context_.count.add(&client_stats::failed);
    }
    if (context_.observed()) {
        lock_event event;
        event.type = waiter->code ? lock_event::kind::refused : lock_event::kind::acquired;
        if (waiter->lock_name)
            event.name = *waiter->lock_name;
        if (waiter->granted)
            event.token = waiter->granted->token();
        event.code = waiter->code;
        event.took = context_.now() - waiter->since;
        context_.tell(event);
    }
    waiter->complete();
}

// Why a waiter whose time ran out did not get the lock. In an outage, nobody knows whether somebody
// else has it.
errc local_locks::reason_of(const local_waiter& waiter) const {
    const auto session = waiter.lock_name ? core_.sessions.watch_of(*waiter.lock_name) : nullptr;
    if (session && waiter.queues && session->outage() != errc())
        return session->outage();
    if (session && !waiter.held_here &&
        session->quarantine_left(context_.now()) != clock::duration::zero())
        return errc::quarantined;
    return errc::busy;
}

// Refuses tasks that come after the end of the client, so that no waiter is left without an answer.
void local_locks::refuse(const std::vector<strand_task>& tasks) {
    queue_work work;
    for (const auto& each : tasks) {
        if (!each.target)
            continue;
        table_.give_up(*each.target, errc::client_stopped, work);
        if (auto handler = std::move(each.target->released))
            handler.complete(errc::client_stopped);
    }
    work.tasks.clear();
    carry_out(std::move(work));
}

// Whether the store releases a lock and takes the next request for it in one step.
bool local_locks::goes_with(const strand_task& release, const strand_task& next) const {
    return context_.traits().release_and_request && next.type == strand_task::kind::ask &&
           next.target->lock_name() == release.target->lock_name() &&
           &core_.sessions.of(*next.target) == &core_.sessions.of(*release.target);
}

// The claims that are to be asked for in the same call as the first of these tasks.
std::vector<std::shared_ptr<claim>>
local_locks::behind(const std::vector<strand_task>& tasks, std::size_t first) {
    std::vector<std::shared_ptr<claim>> all;
    for (std::size_t at = first + 1; at < tasks.size(); ++at) {
        if (tasks[at].type == strand_task::kind::ask && tasks[at].target->behind)
            all.push_back(tasks[at].target);
    }
    return all;
}

void local_locks::run(const std::vector<strand_task>& tasks) {
    if (context_.closed())
        return refuse(tasks);
    std::shared_ptr<release_op> releasing;
    std::vector<std::shared_ptr<claim>> together;
    const auto session_of = [this](const strand_task& task) -> client_session& {
        return core_.sessions.of(*task.target);
    };
    for (std::size_t at = 0; at < tasks.size(); ++at) {
        const auto& each = tasks[at];
        switch (each.type) {
        case strand_task::kind::ask:
            if (std::find(together.begin(), together.end(), each.target) != together.end())
                break;
            together = behind(tasks, at);
            session_of(each).claims.start(each.target, releasing, together);
            break;
        case strand_task::kind::stop:
            session_of(each).claims.stop(each.target, each.why);
            break;
        case strand_task::kind::release:
            if (at + 1 < tasks.size() && goes_with(each, tasks[at + 1])) {
                ++at;
                session_of(each).releases.start_with(each.target, tasks[at].target);
            } else {
                releasing = session_of(each).releases.start(each.target);
            }
            break;
        case strand_task::kind::draw:
            session_of(each).claims.draw(each.target);
            break;
        case strand_task::kind::linger:
            session_of(each).claims.linger(each.target);
            break;
        case strand_task::kind::time:
            end_hold_at(each.held);
            break;
        case strand_task::kind::untime:
            context_.clear_timer(each.held->alarm);
            context_.clear_timer(each.held->timer);
            break;
        case strand_task::kind::arm:
            break;
        }
    }
    core_.arm();
}

// Sets the timers of a reentrant lease with its own `hold_max`: the store knows only its grant.
void local_locks::end_hold_at(const std::shared_ptr<held_grant>& held) {
    const std::weak_ptr<held_grant> weak = held;
    context_.set_timer(held->alarm, held->own_end.alarm(), [this, weak] {
        const auto alive = weak.lock();
        if (!alive || alive->check())
            return;
        context_.tell(lock_event::kind::warned, *alive, errc::lease_expired);
        alive->end_waiting(errc::lease_expired);
    });
    context_.set_timer(held->timer, held->own_end.at(), [this, weak] {
        if (const auto alive = weak.lock())
            end_hold(*alive);
    });
}

void local_locks::end_hold(held_grant& held) {
    queue_work work;
    if (table_.end_hold(held, work) == lock_queue::release_outcome::was_gone)
        return;  // The lease was released, or lost with its grant.
    lose(held, errc::lease_expired);
    carry_out(std::move(work));
}

void local_locks::lose(held_grant& held, errc why) {
    if (held.lose(why)) {
        context_.count.add(&client_stats::lost);
        context_.tell(lock_event::kind::lost, held, why);
    }
    context_.count.add(&client_stats::leases, -1);
}

}  // namespace mortise::detail
