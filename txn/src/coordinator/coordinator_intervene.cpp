// SPDX-License-Identifier: BSL-1.0
// Shows transactions to operators, and carries out their orders.
#include "coordinator/coordinator_core.hpp"
#include "log/log_views.hpp"
#include "log/wish_tables.hpp"
#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/coro/time_source.hpp"

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

void coordinator_core::show(
    const gid& gid,
    coro::detail::completion<void(error_code, std::optional<transaction_view>)> handler
) {
    if (seat_.deserted())
        return handler.complete(errc::stopped, std::nullopt);
    asio::dispatch(
        seat_.strand(),
        [self = shared_from_this(), gid, handler = std::move(handler)]() mutable {
            if (self->closed_ || !self->log_)
                return handler.complete(self->unusable(), std::nullopt);
            auto asked = std::make_shared<decltype(handler)>(std::move(handler));
            self->log_->ask(
                [gid](db::connection& on) { return log::log_views::of(on, gid); },
                self->with_read([asked](error_code failed, std::optional<transaction_view> found) {
                    asked->complete(failed, std::move(found));
                })
            );
        }
    );
}

void coordinator_core::list(
    list_filter filter,
    std::uint64_t after,
    std::size_t limit,
    coro::detail::completion<void(error_code, std::vector<transaction_view>)> handler
) {
    if (seat_.deserted())
        return handler.complete(errc::stopped, {});
    asio::dispatch(
        seat_.strand(),
        [self = shared_from_this(), filter, after, limit, handler = std::move(handler)]() mutable {
            if (self->closed_ || !self->log_)
                return handler.complete(self->unusable(), {});
            auto asked = std::make_shared<decltype(handler)>(std::move(handler));
            self->log_->ask(
                [filter, after, limit](db::connection& on) {
                    return log::log_views::list(on, filter, after, limit);
                },
                self->with_read([asked](error_code failed, std::vector<transaction_view> found) {
                    asked->complete(failed, std::move(found));
                })
            );
        }
    );
}

void coordinator_core::intervene(intervention order, code_handler handler) {
    if (seat_.deserted())
        return handler.complete(errc::stopped);
    asio::dispatch(
        seat_.strand(),
        [self = shared_from_this(), order = std::move(order), handler = std::move(handler)](
        ) mutable { self->intervene_logged(order, std::move(handler)); }
    );
}

// Takes up a transaction first that was put aside or that the recovery has not reached, as it was.
void coordinator_core::intervene_logged(const intervention& how, code_handler handler) {
    const auto number = how.gid.number;
    if (closed_ || !log_ || how.gid.log != log_id_ || open_.contains(number))
        return intervene_now(how, std::nullopt, std::move(handler));
    auto asked = std::make_shared<code_handler>(std::move(handler));
    log_->ask(
        [number](db::connection& on) { return log::log_tables::find(on, number); },
        with_read([self = shared_from_this(), how, asked, read = ends_during_reads_.begin()](
                      error_code failed, const std::optional<log::logged>& found
                  ) {
            if (failed)
                return answer(*asked, failed);
            const bool ours = found && !found->ended && !self->closed_ &&
                              found->partition < self->partitions_.size() &&
                              self->partitions_[found->partition]->term;
            if (ours && !self->open_.contains(found->number) && !read->is_stale(found->number))
                self->take_up(*self->partitions_[found->partition], *found, stuck_ones::keep);
            self->intervene_now(how, std::nullopt, std::move(*asked));
            if (const auto here = self->open_.find(how.gid.number); here != self->open_.end())
                self->put_aside_later(here->second);
            self->arm();
        })
    );
}

void coordinator_core::put_aside_later(const running_ptr& transaction) {
    if (transaction->for_people && for_people_ > config_.stuck_max)
        asio::post(seat_.strand(), [self = shared_from_this(), transaction] {
            self->put_aside(transaction);
        });
}

// Drops a stuck transaction from memory. It waits for people only, and the log has all that they
// need to know.
void coordinator_core::put_aside(const running_ptr& transaction) {
    if (closed_ || gone(*transaction) || !transaction->for_people ||
        for_people_ <= config_.stuck_max)
        return;
    if (transaction->suspicious || !transaction->settlers.empty() || !is_idle(*transaction))
        return;
    open_.erase(transaction->gid.number);
    release(transaction, errc::stopped);
}

bool coordinator_core::is_idle(const running& transaction) {
    return !transaction.deciding && !transaction.ending && !transaction.timer &&
           transaction.orders == 0 && transaction.waiters.empty() &&
           std::none_of(
               transaction.branches.begin(),
               transaction.branches.end(),
               [](const auto& each) { return each.flight != 0 || each.queued || each.timer; }
           );
}

error_code coordinator_core::reason_against(const intervention& how) const {
    if (closed_ || !log_ || owned() == 0)
        return unusable();
    const auto found = open_.find(how.gid.number);
    if (how.gid.log != log_id_ || found == open_.end())
        return errc::not_open;
    const auto& transaction = *found->second;
    bool any = how.what == intervention::kind::force && !transaction.proof;
    for (std::size_t i = 0; i < transaction.branches.size(); ++i) {
        if (!concerns(how, i))
            continue;
        any = any || transaction.fsm.is_stuck(static_cast<branch_number>(i + 1)) ||
              (how.what == intervention::kind::retry &&
               (transaction.branches[i].timer || transaction.branches[i].unasked));
    }
    return any ? error_code() : errc::not_stuck;
}

// Writes what is skipped together with who did it and why, in one transaction of the log, before
// anything else is done: nobody ever sees one without the other.
void coordinator_core::intervene_now(
    const intervention& how, std::optional<std::int64_t> wish, code_handler handler
) {
    if (const auto against = reason_against(how)) {
        if (wish)
            refuse(*wish, against);
        return answer(handler, against);
    }
    const auto transaction = open_.find(how.gid.number)->second;
    mark_skipped(*transaction, how, true);
    action_view taken;
    taken.what = to_string(how.what);
    taken.branch = how.branch;
    taken.who = how.who;
    taken.why = how.why;
    auto asked = std::make_shared<code_handler>(std::move(handler));
    ++transaction->orders;
    log_->change(
        [by = *transaction->home->term,
         number = how.gid.number,
         taken,
         wish,
         progress = transaction->done.encode()](db::connection& on) -> result<void> {
            if (wish && !log::wish_tables::settle(on, *wish, {}))
                return error_code(errc::not_open);  // the order was done before
            if (const auto failed = log::log_tables::note_progress(on, by, number, progress, false))
                return failed;
            log::log_views::record(on, number, taken);
            MORTISE_CRASH_POINT("log.action");
            return {};
        },
        db::durability::force,
        asio::bind_executor(
            seat_.strand(),
            [self = shared_from_this(), transaction, how, asked, wish](error_code failed) {
                --transaction->orders;
                if (failed)
                    mark_skipped(*transaction, how, false);
                else if (!self->gone(*transaction))
                    self->intervened(transaction, how);
                if (wish && !failed)
                    db::bell::ring(self->config_.log);
                answer(*asked, failed);
                self->put_aside_later(transaction);
            }
        )
    );
}

void coordinator_core::mark_skipped(running& transaction, const intervention& how, bool skipped) {
    if (how.what == intervention::kind::retry)
        return;
    for (std::size_t i = 0; i < transaction.done.branches.size(); ++i) {
        if (!concerns(how, i) || !transaction.fsm.is_stuck(static_cast<branch_number>(i + 1)))
            continue;
        auto& each = transaction.done.branches[i];
        each.stuck = !skipped;
        each.finished = each.skipped = skipped;
    }
}

void coordinator_core::answer(code_handler& handler, error_code code) {
    if (handler)
        handler.complete(code);
}

void coordinator_core::intervened(const running_ptr& transaction, const intervention& how) {
    const bool skips = how.what != intervention::kind::retry;
    lift_bars(*transaction);
    if (how.what == intervention::kind::force) {
        abort(*transaction, errc::forced, how.why);
        if (transaction->fsm.presuming()) {
            transaction->why = errc::forced;
            transaction->text = how.why;
            decide(transaction, false);
        }
    }
    steps next;
    for (std::size_t i = 0; i < transaction->branches.size(); ++i) {
        const auto number = static_cast<branch_number>(i + 1);
        // Another order may skip a branch meanwhile: that takes effect when it is on record.
        if (!concerns(how, i) || !transaction->fsm.is_stuck(number) ||
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
    if (!gone(*transaction))
        waits_for_people(*transaction, any);
    carry_out(transaction, next);
    if (!skips)
        hurry(transaction);
    if (!gone(*transaction))
        note(transaction);
    arm();
}

}  // namespace detail
}  // namespace mortise::txn
