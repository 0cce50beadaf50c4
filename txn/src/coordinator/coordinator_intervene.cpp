// SPDX-License-Identifier: BSL-1.0
// What operators see and do.
#include "coordinator/coordinator_core.hpp"
#include "log/log_views.hpp"
#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/coro/time_source.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>

#include <utility>

namespace mortise::txn {

const char* to_string(intervention::kind what) noexcept {
    switch (what) {
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
    const gid& which,
    coro::detail::completion<void(error_code, std::optional<transaction_view>)> handler
) {
    if (*context_ended_ || process_.forked())
        return handler.complete(errc::stopped, std::nullopt);
    asio::dispatch(
        *strand_,
        [self = shared_from_this(), which, handler = std::move(handler)]() mutable {
            if (self->closed_ || !self->log_)
                return handler.complete(self->unusable(), std::nullopt);
            auto asked = std::make_shared<decltype(handler)>(std::move(handler));
            self->log_->ask(
                [which](db::connection& on) {
                    return log::log_tables::log_id(on) == which.log ? log::log_views::of(on, which)
                                                                    : std::nullopt;
                },
                asio::bind_executor(
                    *self->strand_,
                    [asked](error_code failed, std::optional<transaction_view> found) {
                        asked->complete(failed, std::move(found));
                    }
                )
            );
        }
    );
}

void coordinator_core::list(
    list_filter which,
    std::uint64_t after,
    std::size_t limit,
    coro::detail::completion<void(error_code, std::vector<transaction_view>)> handler
) {
    if (*context_ended_ || process_.forked())
        return handler.complete(errc::stopped, {});
    asio::dispatch(
        *strand_,
        [self = shared_from_this(), which, after, limit, handler = std::move(handler)]() mutable {
            if (self->closed_ || !self->log_)
                return handler.complete(self->unusable(), {});
            auto asked = std::make_shared<decltype(handler)>(std::move(handler));
            self->log_->ask(
                [which, after, limit](db::connection& on) {
                    const auto log = log::log_tables::log_id(on);
                    return log::log_views::list(on, log, which, after, limit);
                },
                asio::bind_executor(
                    *self->strand_,
                    [asked](error_code failed, std::vector<transaction_view> found) {
                        asked->complete(failed, std::move(found));
                    }
                )
            );
        }
    );
}

void coordinator_core::intervene(intervention what, code_handler handler) {
    if (*context_ended_ || process_.forked())
        return handler.complete(errc::stopped);
    asio::dispatch(
        *strand_,
        [self = shared_from_this(), what = std::move(what), handler = std::move(handler)](
        ) mutable { self->intervene_now(what, std::move(handler)); }
    );
}

// It is on the disk before anything is done: what was done without a record cannot be explained.
void coordinator_core::intervene_now(const intervention& how, code_handler handler) {
    if (closed_ || !log_ || owned() == 0)
        return handler.complete(unusable());
    const auto found = open_.find(how.gid.number);
    if (how.gid.log != log_id_ || found == open_.end())
        return handler.complete(errc::not_open);
    const auto what = found->second;
    bool any = how.what == intervention::kind::force && !what->proof;
    for (std::size_t i = 0; i < what->branches.size(); ++i) {
        if (!concerns(how, i))
            continue;
        const auto which = static_cast<branch_number>(i + 1);
        any = any || what->fsm.is_stuck(which) ||
              (how.what == intervention::kind::retry && what->branches[i].timer);
    }
    if (!any)
        return handler.complete(errc::not_stuck);
    action_view made;
    made.what = to_string(how.what);
    made.branch = how.branch;
    made.who = how.who;
    made.why = how.why;
    auto asked = std::make_shared<code_handler>(std::move(handler));
    log_->change(
        [by = *what->home->term, number = how.gid.number, made](db::connection& on
        ) -> result<void> {
            if (!log::log_tables::decides(on, by))
                return error_code(errc::stepped_down);
            log::log_views::record(on, number, made);
            MORTISE_CRASH_POINT("log.action");
            return {};
        },
        db::durability::force,
        asio::bind_executor(
            *strand_,
            [self = shared_from_this(), what, how, asked](error_code failed) {
                if (!failed && !self->gone(*what))
                    self->intervened(what, how);
                asked->complete(failed);
            }
        )
    );
}

void coordinator_core::intervened(const running_ptr& what, const intervention& how) {
    const bool skips = how.what != intervention::kind::retry;
    if (how.what == intervention::kind::force)
        abort(*what, errc::forced, how.why);
    steps next;
    for (std::size_t i = 0; i < what->branches.size(); ++i) {
        const auto which = static_cast<branch_number>(i + 1);
        if (!concerns(how, i) || !what->fsm.is_stuck(which))
            continue;
        what->done.branches[i].stuck = false;
        if (skips) {
            what->done.branches[i].finished = what->done.branches[i].skipped = true;
            what->fsm.finished(which, next);
        } else {
            what->fsm.unstick(which, next);
        }
    }
    carry_out(what, next);
    if (!skips)
        hurry(what);
    if (!gone(*what))
        note(what);
    arm();
}

}  // namespace detail
}  // namespace mortise::txn
