// SPDX-License-Identifier: BSL-1.0
#include "coordinator/operator_desk.hpp"

#include "coordinator/coordinator_core.hpp"
#include "log/log_views.hpp"
#include "log/operator_order_tables.hpp"
#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/db/bell.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace mortise::txn {

const char* to_string(intervention::kind kind) noexcept {
    switch (kind) {
    case intervention::kind::retry:
        return "retry";
    case intervention::kind::skip:
        return "skip";
    case intervention::kind::force:
        return "force";
    }
    return "?";
}

namespace detail {

void operator_desk::show(
    const gid& gid,
    coro::detail::completion<void(error_code, std::optional<transaction_view>)> handler
) {
    if (context_.deserted())
        return handler.complete(errc::stopped, std::nullopt);
    asio::dispatch(
        context_.strand(),
        [this, kept = context_.keep(), gid, handler = std::move(handler)]() mutable {
            if (context_.closed() || !core_.log.is_open())
                return handler.complete(core_.partitions.unusable(), std::nullopt);
            auto asked = std::make_shared<decltype(handler)>(std::move(handler));
            core_.log->ask(
                [gid](db::connection& on) { return log::log_views::of(on, gid); },
                core_.log.bound_read([asked](
                                         error_code failed, std::optional<transaction_view> found
                                     ) { asked->complete(failed, std::move(found)); })
            );
        }
    );
}

void operator_desk::list(
    list_filter filter,
    std::uint64_t after,
    std::size_t limit,
    coro::detail::completion<void(error_code, std::vector<transaction_view>)> handler
) {
    if (context_.deserted())
        return handler.complete(errc::stopped, {});
    asio::dispatch(
        context_.strand(),
        [this, kept = context_.keep(), filter, after, limit, handler = std::move(handler)](
        ) mutable {
            if (context_.closed() || !core_.log.is_open())
                return handler.complete(core_.partitions.unusable(), {});
            auto asked = std::make_shared<decltype(handler)>(std::move(handler));
            core_.log->ask(
                [filter, after, limit](db::connection& on) {
                    return log::log_views::list(on, filter, after, limit);
                },
                core_.log.bound_read([asked](
                                         error_code failed, std::vector<transaction_view> found
                                     ) { asked->complete(failed, std::move(found)); })
            );
        }
    );
}

void operator_desk::intervene(intervention order, code_handler handler) {
    if (context_.deserted())
        return handler.complete(errc::stopped);
    asio::dispatch(
        context_.strand(),
        [this, kept = context_.keep(), order = std::move(order), handler = std::move(handler)](
        ) mutable { intervene_logged(order, std::move(handler)); }
    );
}

// Takes up a transaction first that was put aside or that the recovery has not reached, as it was.
void operator_desk::intervene_logged(const intervention& order, code_handler handler) {
    const auto number = order.gid.number;
    if (context_.closed() || !core_.log.is_open() || order.gid.log != core_.log.id() ||
        core_.open.contains(number))
        return intervene_now(order, std::nullopt, std::move(handler));
    auto asked = std::make_shared<code_handler>(std::move(handler));
    core_.log->ask(
        [number](db::connection& on) { return log::log_entries::find(on, number); },
        core_.log.bound_read(
            [this, kept = context_.keep(), order, asked, read = core_.open.begin_read()](
                error_code failed, const std::optional<log::logged>& found
            ) {
                if (failed)
                    return answer(*asked, failed);
                auto* const home = found && !found->ended && !context_.closed()
                                       ? core_.partitions.ours(found->partition)
                                       : nullptr;
                if (home != nullptr && !core_.open.contains(found->number) &&
                    !read->is_stale(found->number))
                    core_.recovery.take_up(*home, *found, recovery::stuck_ones::keep);
                intervene_now(order, std::nullopt, std::move(*asked));
                if (const auto here = core_.open.find(order.gid.number))
                    put_aside_later(here);
                context_.arm();
            }
        )
    );
}

void operator_desk::put_aside_later(const running_ptr& transaction) {
    if (transaction->for_people && core_.open.stuck() > context_.config().stuck_max)
        asio::post(context_.strand(), [this, kept = context_.keep(), transaction] {
            put_aside(transaction);
        });
}

// Drops a stuck transaction from memory. It waits for people only, and the log has all that they
// need to know.
void operator_desk::put_aside(const running_ptr& transaction) {
    if (context_.closed() || !core_.open.holds(*transaction) || !transaction->for_people ||
        core_.open.stuck() <= context_.config().stuck_max)
        return;
    if (transaction->suspicious || !transaction->settlers.empty() || !is_idle(*transaction))
        return;
    core_.open.remove(*transaction);
    core_.runs.release(transaction, errc::stopped);
}

bool operator_desk::is_idle(const running& transaction) {
    return !transaction.deciding && !transaction.ending && !transaction.timer &&
           transaction.orders == 0 && transaction.waiters.empty() &&
           std::none_of(
               transaction.branches.begin(),
               transaction.branches.end(),
               [](const auto& each) { return each.flight != 0 || each.queued || each.timer; }
           );
}

error_code operator_desk::reason_against(const intervention& order) const {
    if (context_.closed() || !core_.log.is_open() || core_.partitions.owned() == 0)
        return core_.partitions.unusable();
    const auto found = core_.open.find(order.gid.number);
    if (order.gid.log != core_.log.id() || !found)
        return errc::not_open;
    const auto& transaction = *found;
    bool any = order.type == intervention::kind::force && !transaction.proof;
    for (std::size_t i = 0; i < transaction.branches.size(); ++i) {
        if (!concerns(order, i))
            continue;
        any = any || transaction.fsm.is_stuck(static_cast<branch_number>(i + 1)) ||
              (order.type == intervention::kind::retry &&
               (transaction.branches[i].timer || transaction.branches[i].unasked));
    }
    return any ? error_code() : errc::not_stuck;
}

// Writes what is skipped together with who did it and why, in one transaction of the log, before
// anything else is done: nobody ever sees one without the other.
void operator_desk::intervene_now(
    const intervention& order, std::optional<std::int64_t> order_id, code_handler handler
) {
    if (const auto against = reason_against(order)) {
        if (order_id)
            core_.orders.refuse(*order_id, against);
        return answer(handler, against);
    }
    const auto transaction = core_.open.find(order.gid.number);
    mark_skipped(*transaction, order, true);
    action_view taken;
    taken.type = to_string(order.type);
    taken.branch = order.branch;
    taken.who = order.who;
    taken.why = order.why;
    auto asked = std::make_shared<code_handler>(std::move(handler));
    ++transaction->orders;
    core_.log->change(
        [by = *transaction->home->term,
         number = order.gid.number,
         taken,
         order_id,
         progress = transaction->done.encode()](db::connection& on) -> result<void> {
            if (order_id && !log::operator_order_tables::settle(on, *order_id, {}))
                return error_code(errc::not_open);  // the order was done before
            if (const auto failed =
                    log::log_entries::note_progress(on, by, number, progress, false))
                return failed;
            log::log_views::record(on, number, taken);
            MORTISE_CRASH_POINT("log.action");
            return {};
        },
        db::durability::force,
        asio::bind_executor(
            context_.strand(),
            [this, kept = context_.keep(), transaction, order, asked, order_id](error_code failed) {
                --transaction->orders;
                if (failed)
                    mark_skipped(*transaction, order, false);
                else if (core_.open.holds(*transaction))
                    intervened(transaction, order);
                if (order_id && !failed)
                    db::bell::ring(context_.config().log);
                answer(*asked, core_.log.reason_of(failed));
                put_aside_later(transaction);
            }
        )
    );
}

void operator_desk::mark_skipped(running& transaction, const intervention& order, bool skipped) {
    if (order.type == intervention::kind::retry)
        return;
    for (std::size_t i = 0; i < transaction.done.branches.size(); ++i) {
        if (!concerns(order, i) || !transaction.fsm.is_stuck(static_cast<branch_number>(i + 1)))
            continue;
        auto& each = transaction.done.branches[i];
        each.stuck = !skipped;
        each.finished = each.skipped = skipped;
    }
}

void operator_desk::intervened(const running_ptr& transaction, const intervention& order) {
    const bool skips = order.type != intervention::kind::retry;
    core_.lanes.lift_bars(*transaction);
    if (order.type == intervention::kind::force) {
        core_.runs.abort(*transaction, errc::forced, order.why);
        if (transaction->fsm.presuming() && !transaction->fsm.alone()) {
            transaction->why = errc::forced;
            transaction->text = order.why;
            core_.runs.decide(transaction, false);
        }
    }
    steps next;
    for (std::size_t i = 0; i < transaction->branches.size(); ++i) {
        const auto number = static_cast<branch_number>(i + 1);
        // Another order may skip a branch meanwhile: that takes effect when it is on record.
        if (!concerns(order, i) || !transaction->fsm.is_stuck(number) ||
            transaction->done.branches[i].skipped != skips)
            continue;
        transaction->done.branches[i].stuck = false;
        if (skips)
            transaction->fsm.finished(number, next);
        else
            transaction->fsm.unstick(number, next);
    }
    bool any = false;
    for (std::size_t i = 0; i < transaction->branches.size(); ++i)
        any = any || transaction->fsm.is_stuck(static_cast<branch_number>(i + 1));
    if (core_.open.holds(*transaction))
        core_.open.mark_stuck(*transaction, any);
    core_.runs.carry_out(transaction, next);
    if (!skips)
        core_.calls.hurry(transaction);
    if (core_.open.holds(*transaction))
        core_.runs.note(transaction);
    context_.arm();
}

void operator_desk::answer(code_handler& handler, error_code code) {
    if (handler)
        handler.complete(code);
}

}  // namespace detail
}  // namespace mortise::txn
