// SPDX-License-Identifier: BSL-1.0
#include "coordinator/coordinator_core.hpp"

#include "mortise/coro/time_source.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include <utility>

namespace mortise::txn::detail {

coordinator_core::coordinator_core(asio::any_io_executor executor, coordinator_config config)
    : context(std::move(executor), std::move(config)),
      log(*this, context),
      partitions(*this, context),
      open(context),
      lanes(*this, context),
      calls(*this, context),
      replies(*this, context),
      admission(*this, context),
      runs(*this, context),
      recovery(*this, context),
      outcomes(*this, context),
      operators(*this, context),
      prepared(*this, context),
      orders(*this, context) {}

coordinator_core::~coordinator_core() = default;

void coordinator_core::attach() {
    if (!context.take(shared_from_this()))
        return shut_down();
    asio::dispatch(context.strand(), [this, kept = context.keep()] { log.open(); });
}

// The context is being destroyed: drop every handler, post nothing, ask nobody. The handlers are
// destroyed last, because they may own frames that refer to the parts.
void coordinator_core::shut_down() noexcept {
    if (context.forked())
        return;
    context.close();
    context.clear_timers();
    const auto under_way = open.take_all();
    const auto early = admission.take_early();
    const auto settlers = outcomes.take_early();
    const auto stoppers = std::exchange(stoppers_, {});
    partitions.close();
    lanes.clear_queues();
    orders.close();
    log.close();
    context.leave();
}

void coordinator_core::close() noexcept {
    coro::detail::wait_service::unlink(*this);
    if (context.deserted())
        return;
    asio::dispatch(context.strand(), [this, kept = context.keep()] { close_now(); });
}

void coordinator_core::stop(stop_handler handler) {
    if (context.deserted())
        return handler.complete(errc::stopped);
    asio::dispatch(
        context.strand(),
        [this, kept = context.keep(), handler = std::move(handler)]() mutable {
            stoppers_.push_back(std::move(handler));
            if (context.closed())
                return close_now();
            begin_stop();
        }
    );
}

void coordinator_core::begin_stop() {
    if (context.begin_stop()) {
        context.set_timer(
            stop_timer_,
            coro::saturating_add(context.now(), context.config().stop_max),
            [this] {
                stop_overdue_ = true;
                end_stop();
            }
        );
        context.arm();
    }
    const auto all = open.all();
    for (const auto& [number, transaction] : all)
        runs.abort(*transaction, errc::withdrawn, "the coordinator was stopped");
    end_stop();
}

// Ends the stop once every transaction is decided; the next coordinator finishes the rest. If
// another process keeps the log locked for too long, the undecided ones are left to it as well.
void coordinator_core::end_stop() {
    if (!context.stopping() || stoppers_.empty() || context.closed())
        return;
    if (partitions.owned() != 0 && !partitions.decides_nothing() && !stop_overdue_)
        return;
    context.clear_timer(stop_timer_);
    partitions.retire(errc::stopped);
    runs.drop_all(errc::stopped);
    if (partitions.standing() || log_stopping_)
        return;  // until the locks are released
    if (!log.is_open())
        return close_now();
    log_stopping_ = true;
    log->stop(asio::bind_executor(context.strand(), [this, kept = context.keep()](error_code) {
        close_now();
    }));
}

// Checks again whether the stop can end: transactions may have been dropped, which calls nobody.
void coordinator_core::end_stop_later() {
    if (context.stopping() && !context.closed())
        asio::post(context.strand(), [this, kept = context.keep()] { end_stop(); });
}

void coordinator_core::close_now() {
    if (context.close()) {
        coro::detail::wait_service::unlink(*this);
        context.begin_stop();
        partitions.retire(errc::stopped);
        runs.drop_all(errc::stopped);
        context.clear_timers();
        prepared.stop();
        orders.close();
        log.close();
    }
    for (auto& each : std::exchange(stoppers_, {}))
        each.complete(error_code());
}

}  // namespace mortise::txn::detail
