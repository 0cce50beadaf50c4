// SPDX-License-Identifier: BSL-1.0
#include "client/client_core.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>

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
    const auto mode = options.mode.what();
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
    const client_core* of = nullptr;
    waiter_list* list = nullptr;
};
thread_local completions under_way;

}  // namespace

void client_core::acquire(
    std::string name, lock_options options, bool queues, local_waiter::handler_type handler
) {
    // A try does not use `wait_max`, so no value of it is refused.
    if (!queues)
        options.wait_max = std::chrono::milliseconds::max();
    const error_code refused =
        process_.forked() ? error_code(errc::forked) : refusal(name, options, traits_);
    const auto waiter = std::make_shared<local_waiter>(
        weak_from_this(),
        options,
        queues && options.wait_max != std::chrono::milliseconds::zero(),
        std::move(handler)
    );
    counters_.add(&client_stats::waiting);
    if (config_.observer != nullptr)
        waiter->since = now();
    queue_work work;
    if (refused) {
        waiter->code = refused;
        work.done.push(waiter);
    } else {
        waiter->listen();
        if (const auto queue = table_.acquire(std::move(name), waiter, work))
            tell({.what = lock_event::kind::waiting, .name = queue->name()});
    }
    carry_out(std::move(work));
}

void client_core::tell(lock_event event) const noexcept {
    if (config_.observer != nullptr)
        config_.observer->on_event(event);
}

void client_core::tell(lock_event::kind kind, const held_grant& held, error_code code)
    const noexcept {
    tell({.what = kind, .name = held.name(), .token = held.token(), .code = code});
}

void client_core::cancel(local_waiter& waiter, error_code why) {
    if (process_.forked())
        return;
    queue_work work;
    table_.cancel(waiter, why, work);
    carry_out(std::move(work));
}

// Never call this under the table's mutex: a handler destroyed here may release a lease.
void client_core::carry_out(queue_work work) {
    for (const auto& each : std::exchange(work.contended, {}))
        each->end_contended({});
    if (!work.tasks.empty() && !*context_ended_) {
        asio::dispatch(*strand_, [self = shared_from_this(), tasks = std::move(work.tasks)] {
            self->run(tasks);
        });
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

void client_core::complete(const std::shared_ptr<local_waiter>& waiter) {
    counters_.add(&client_stats::waiting, -1);
    // If the time ran out in an outage, nobody knows whether somebody else has the lock.
    const errc outage = outage_;
    const bool busy = waiter->code == errc::busy;
    if (busy && waiter->queues && outage != errc())
        waiter->code = outage;
    else if (busy && !waiter->held_here && quarantine_left() != clock::duration())
        waiter->code = errc::quarantined;
    if (!waiter->code) {
        counters_.add(&client_stats::granted);
        counters_.add(&client_stats::leases);
    } else if (waiter->code == errc::busy) {
        counters_.add(&client_stats::busy);
    } else if (waiter->code == asio::error::operation_aborted) {
        counters_.add(&client_stats::cancelled);
    } else {
        counters_.add(&client_stats::failed);
    }
    if (config_.observer != nullptr) {
        lock_event event;
        event.what = waiter->code ? lock_event::kind::refused : lock_event::kind::acquired;
        if (waiter->lock_name)
            event.name = *waiter->lock_name;
        if (waiter->granted)
            event.token = waiter->granted->token();
        event.code = waiter->code;
        event.took = now() - waiter->since;
        tell(event);
    }
    waiter->complete();
}

// Refuses tasks that come after the end of the client, so that no waiter is left without an answer.
void client_core::refuse(const std::vector<strand_task>& tasks) {
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

void client_core::run(const std::vector<strand_task>& tasks) {
    if (closed_)
        return refuse(tasks);
    std::shared_ptr<release_op> releasing;
    for (const auto& each : tasks) {
        switch (each.type) {
        case strand_task::kind::ask:
            start(each.target, releasing);
            break;
        case strand_task::kind::stop:
            stop(each.target, each.why);
            break;
        case strand_task::kind::release:
            releasing = start_release(each.target);
            break;
        case strand_task::kind::draw:
            draw(each.target);
            break;
        case strand_task::kind::linger:
            linger(each.target);
            break;
        case strand_task::kind::time:
            end_hold_at(each.held);
            break;
        case strand_task::kind::untime:
            deadlines_.clear(each.held->alarm);
            deadlines_.clear(each.held->timer);
            break;
        case strand_task::kind::arm:
            break;
        }
    }
    arm();
}

}  // namespace mortise::detail
