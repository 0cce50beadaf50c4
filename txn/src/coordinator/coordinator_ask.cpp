// SPDX-License-Identifier: BSL-1.0
// Answers questions about transactions, and waits for their end.
#include "coordinator/coordinator_core.hpp"
#include "mortise/coro/detail/cancel_proxy.hpp"
#include "mortise/coro/time_source.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>

#include <memory>
#include <utility>

namespace mortise::txn::detail {
namespace {

error_code code_in(const log::verdict& verdict) {
    return verdict.at == standing::never_existed ? error_code(errc::bad_gid)
           : verdict.at == standing::forgotten   ? error_code(errc::not_open)
                                                 : error_code();
}

}  // namespace

outcome coordinator_core::outcome_in(const gid& gid, const log::verdict& verdict) {
    const auto kind = verdict.at == standing::confirmed   ? outcome::kind::confirmed
                      : verdict.at == standing::cancelled ? outcome::kind::cancelled
                                                          : outcome::kind::unknown;
    const auto why = verdict.why != 0 ? error_code(static_cast<errc>(verdict.why)) : error_code();
    return {kind, gid, why, verdict.text};
}

void coordinator_core::ask(const gid& gid, outcome_handler handler) {
    if (seat_.deserted())
        return handler.complete(errc::stopped, outcome());
    asio::dispatch(
        seat_.strand(),
        [self = shared_from_this(), gid, handler = std::move(handler)]() mutable {
            const auto asked = std::make_shared<outcome_handler>(std::move(handler));
            self->ask_log(gid, [asked](error_code failed, const outcome& settled) {
                asked->complete(failed, settled);
            });
        }
    );
}

template <class Answer>
void coordinator_core::ask_log(const gid& gid, Answer answer) {
    if (closed_ || !log_)
        return answer(unusable(), outcome());
    // We know the id of a log only after we have taken it over once.
    if (log_id_ && *log_id_ != gid.log)
        return answer(errc::bad_gid, outcome(outcome::kind::unknown, gid));
    log_->ask(
        [gid](db::connection& on) { return log::log_tables::verdict_on(on, gid); },
        with_read([answer, gid](error_code failed, const log::verdict& found) {
            answer(failed ? failed : code_in(found), outcome_in(gid, found));
        })
    );
}

void coordinator_core::settle(const gid& gid, outcome_handler handler) {
    if (seat_.deserted())
        return handler.complete(errc::stopped, outcome());
    // Read the slot in the initiating call: afterwards nobody may touch it.
    const auto slot = handler.release_slot();
    const auto waiter = std::make_shared<settler>(weak_from_this(), gid, std::move(handler));
    coro::detail::install_cancel_proxy<settler>(
        slot, seat_.strand(), std::weak_ptr<settler>(waiter)
    );
    asio::dispatch(seat_.strand(), [self = shared_from_this(), waiter] {
        if (!self->is_taking() || self->closed_ || self->stopping_)
            return self->settle_now(waiter);
        if (self->early_settlers_.size() >= self->config_.open_max)
            return waiter->answer(errc::too_many_open, outcome());
        self->early_settlers_.push_back(waiter);
    });
}

void coordinator_core::settle_now(const settler_ptr& waiter) {
    if (!waiter->waits())
        return;
    const auto found = open_.find(waiter->gid.number);
    if (log_id_ != waiter->gid.log)
        return settle_by_log(waiter);
    if (found == open_.end())
        return settle_logged(waiter);
    found->second->settlers.push_back(waiter);
    hurry(found->second);
}

// Handles a transaction that is not in memory: it has ended, or the recovery has not reached it and
// takes it up now.
void coordinator_core::settle_logged(const settler_ptr& waiter) {
    const auto gid = waiter->gid;
    if (closed_ || !log_)
        return waiter->answer(unusable(), outcome());
    log_->ask(
        [gid](db::connection& on) { return log::log_tables::find(on, gid.number); },
        with_read([self = shared_from_this(), waiter, gid, read = ends_during_reads_.begin()](
                      error_code failed, const std::optional<log::logged>& found
                  ) {
            if (failed)
                return waiter->answer(failed, outcome(outcome::kind::unknown, gid));
            if (!found || found->ended || read->is_stale(gid.number))
                return self->settle_by_log(waiter);
            const bool ours = found->partition < self->partitions_.size() &&
                              self->partitions_[found->partition]->term;
            if (ours && !self->open_.contains(gid.number))
                self->take_up(*self->partitions_[found->partition], *found);
            const auto here = self->open_.find(gid.number);
            if (here == self->open_.end())
                return waiter->answer(errc::standby, outcome(outcome::kind::unknown, gid));
            if (waiter->waits())
                here->second->settlers.push_back(waiter);
            self->hurry(here->second);
            self->arm();
        })
    );
}

void coordinator_core::settle_by_log(const settler_ptr& waiter) {
    ask_log(waiter->gid, [waiter](error_code failed, const outcome& settled) {
        waiter->answer(failed, settled);
    });
}

void coordinator_core::dismiss(const settler& waiter) {
    const auto is_this = [&waiter](const settler_ptr& each) { return each.get() == &waiter; };
    std::erase_if(early_settlers_, is_this);
    if (const auto found = open_.find(waiter.gid.number); found != open_.end())
        std::erase_if(found->second->settlers, is_this);
}

void settler::on_cancel(asio::cancellation_type_t) {
    if (!waits())
        return;
    answer(asio::error::operation_aborted, outcome(outcome::kind::unknown, gid));
    if (const auto core = core_.lock())
        core->dismiss(*this);
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

// Ends the pauses of branches that wait for their next attempt.
void coordinator_core::hurry(const running_ptr& transaction) {
    for (std::size_t i = 0; i < transaction->branches.size(); ++i) {
        auto& branch = transaction->branches[i];
        const auto found = lanes_.find(transaction->plan->branches[i].participant);
        if (found == lanes_.end())
            continue;
        if (branch.timer && branch.flight == 0) {
            deadlines_.clear(branch.timer);
            ask_participant(transaction, static_cast<branch_number>(i + 1));
        }
        found->second.judge.mend();
        pump(found->second);
    }
}

}  // namespace mortise::txn::detail
