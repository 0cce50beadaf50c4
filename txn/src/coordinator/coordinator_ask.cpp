// SPDX-License-Identifier: BSL-1.0
// Questions about transactions, and waiting for their end.
#include "coordinator/coordinator_core.hpp"
#include "mortise/coro/time_source.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>

#include <utility>

namespace mortise::txn::detail {
namespace {

error_code code_in(const log::verdict& what) {
    return what.at == standing::never_existed ? error_code(errc::bad_gid)
           : what.at == standing::forgotten   ? error_code(errc::not_open)
                                              : error_code();
}

}  // namespace

outcome coordinator_core::outcome_in(const gid& which, const log::verdict& what) {
    const auto kind = what.at == standing::confirmed   ? outcome::kind::confirmed
                      : what.at == standing::cancelled ? outcome::kind::cancelled
                                                       : outcome::kind::unknown;
    const auto why = what.why != 0 ? error_code(static_cast<errc>(what.why)) : error_code();
    return {kind, which, why, what.text};
}

void coordinator_core::ask(const gid& which, outcome_handler handler) {
    if (seat_.deserted())
        return handler.complete(errc::stopped, outcome());
    asio::dispatch(
        seat_.strand(),
        [self = shared_from_this(), which, handler = std::move(handler)]() mutable {
            self->ask_log(which, std::move(handler));
        }
    );
}

void coordinator_core::ask_log(const gid& which, outcome_handler handler) {
    if (closed_ || !log_)
        return handler.complete(unusable(), outcome());
    // A log that was never taken over by us is none that we know by name yet.
    if (log_id_ && *log_id_ != which.log)
        return handler.complete(errc::bad_gid, outcome(outcome::kind::unknown, which));
    auto asked = std::make_shared<outcome_handler>(std::move(handler));
    log_->ask(
        [which](db::connection& on) {
            const bool its_log = log::log_tables::log_id(on) == which.log;
            return its_log ? log::log_tables::verdict_on(on, which.number) : log::verdict();
        },
        with_log([asked, which](error_code failed, const log::verdict& found) {
            asked->complete(failed ? failed : code_in(found), outcome_in(which, found));
        })
    );
}

void coordinator_core::settle(const gid& which, outcome_handler handler) {
    if (seat_.deserted())
        return handler.complete(errc::stopped, outcome());
    asio::dispatch(
        seat_.strand(),
        [self = shared_from_this(), which, handler = std::move(handler)]() mutable {
            if (!self->opening_ || self->closed_ || self->stopping_)
                return self->settle_now(which, std::move(handler));
            if (self->early_settlers_.size() >= self->config_.open_max)
                return handler.complete(errc::too_many_open, outcome());
            self->early_settlers_.emplace_back(which, std::move(handler));
        }
    );
}

void coordinator_core::settle_now(const gid& which, outcome_handler handler) {
    const auto found = open_.find(which.number);
    if (log_id_ != which.log)
        return ask_log(which, std::move(handler));
    if (found == open_.end())
        return settle_logged(which, std::move(handler));
    found->second->settlers.push_back(std::move(handler));
    hurry(found->second);
}

// It has ended, or its turn in the recovery has not come yet: it comes now.
void coordinator_core::settle_logged(const gid& which, outcome_handler handler) {
    if (closed_ || !log_)
        return handler.complete(unusable(), outcome());
    auto asked = std::make_shared<outcome_handler>(std::move(handler));
    log_->ask(
        [which](db::connection& on) { return log::log_tables::find(on, which.number); },
        with_log([self = shared_from_this(),
                  asked,
                  which](error_code failed, const std::optional<log::logged>& found) {
            if (failed)
                return asked->complete(failed, outcome(outcome::kind::unknown, which));
            if (!found || found->ended)
                return self->ask_log(which, std::move(*asked));
            const bool ours = found->partition < self->partitions_.size() &&
                              self->partitions_[found->partition]->term;
            if (ours && !self->open_.contains(which.number))
                self->take_up(*self->partitions_[found->partition], *found);
            const auto here = self->open_.find(which.number);
            if (here == self->open_.end())
                return asked->complete(errc::standby, outcome(outcome::kind::unknown, which));
            here->second->settlers.push_back(std::move(*asked));
            self->hurry(here->second);
            self->arm();
        })
    );
}

void coordinator_core::log_stats(
    coro::detail::completion<void(error_code, db::sqlite_stats)> handler
) {
    if (seat_.deserted())
        return handler.complete(errc::stopped, {});
    asio::dispatch(
        seat_.strand(),
        [self = shared_from_this(), handler = std::move(handler)]() mutable {
            if (self->closed_ || !self->log_)
                return handler.complete(self->unusable(), {});
            handler.complete({}, self->log_->stats());
        }
    );
}

// Who waits for its next attempt need not wait any longer.
void coordinator_core::hurry(const running_ptr& what) {
    for (std::size_t i = 0; i < what->branches.size(); ++i) {
        auto& branch = what->branches[i];
        const auto found = lanes_.find(what->what->branches[i].participant);
        if (found == lanes_.end())
            continue;
        if (branch.timer && branch.flight == 0) {
            deadlines_.clear(branch.timer);
            ask_participant(what, static_cast<branch_number>(i + 1));
        }
        found->second.judge.mend();
        pump(found->second);
    }
}

}  // namespace mortise::txn::detail
