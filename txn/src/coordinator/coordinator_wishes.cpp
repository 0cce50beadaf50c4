// SPDX-License-Identifier: BSL-1.0
// Carries out orders that operators have left in the log from other processes.
#include "coordinator/coordinator_core.hpp"
#include "log/log_views.hpp"
#include "log/wish_tables.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/txn/error.hpp"

#include <boost/asio/bind_executor.hpp>

#include <utility>

namespace mortise::txn::detail {
namespace {

constexpr std::size_t wishes_at_once = 256;

}  // namespace

// Listens for the bell. Without one, orders are found only when the log is taken over.
void coordinator_core::listen() {
    if (!bell_) {
        try {
            bell_.emplace(seat_.strand(), config_.log, [weak = weak_from_this()] {
                if (const auto self = weak.lock())
                    self->read_wishes(0);
            });
        } catch (const boost::system::system_error&) {
            bell_.reset();
        }
    }
    read_wishes(0);
}

void coordinator_core::read_wishes(std::int64_t after) {
    if (closed_ || stopping_ || !log_ || owned() == 0)
        return;
    log_->ask(
        [id = *log_id_, after](db::connection& on) {
            return log::wish_tables::pending(on, id, after, wishes_at_once);
        },
        with_log([self = shared_from_this(),
                  number = log_number_](error_code failed, const std::vector<log::wish>& found) {
            if (!failed && number == self->log_number_)
                self->wishes_read(found);
        })
    );
}

void coordinator_core::wishes_read(const std::vector<log::wish>& found) {
    for (const auto& each : found)
        fulfil(each);
    if (found.size() == wishes_at_once)
        read_wishes(found.back().id);
}

// Carries out one order. Those for another coordinator's transactions stay in the log.
void coordinator_core::fulfil(const log::wish& each) {
    if (closed_ || !log_ || owned() == 0)
        return;
    if (!each.partition || each.ended)
        return refuse(each.id, errc::not_open);
    const auto found = open_.find(each.what.gid.number);
    if (found == open_.end())
        return fetch_for(each);
    if (each.what.what != intervention::kind::retry && is_unasked(*found->second, each.what))
        wished_.insert(each.what.gid.number);
    else
        intervene_now(each.what, each.id, code_handler());
}

// Reads a transaction that is not in memory: the recovery has not reached it or has no room, or its
// records are damaged.
void coordinator_core::fetch_for(const log::wish& each) {
    if (*each.partition >= partitions_.size() || !partitions_[*each.partition]->term)
        return;
    log_->ask(
        [number = each.what.gid.number](db::connection& on) {
            return log::log_tables::find(on, number);
        },
        with_log([self = shared_from_this(), each, read = ends_during_reads_.begin()](
                     error_code failed, const std::optional<log::logged>& found
                 ) {
            auto& home = *self->partitions_[*each.partition];
            if (failed || !found || found->ended || !home.term || self->closed_)
                return;
            if (read->is_stale(found->number))
                return;
            if (!self->open_.contains(found->number))
                self->take_up(home, *found);
            if (self->open_.contains(found->number))
                self->fulfil(each);
            else
                self->end_unread(home, each, *found);
            self->arm();
        })
    );
}

// Ends a transaction whose records are damaged, so that nobody can be called for it: operators have
// settled it by hand, and say so.
void coordinator_core::end_unread(
    partition& home, const log::wish& each, const log::logged& found
) {
    const bool open = found.at == standing::open;
    if (each.what.what == intervention::kind::retry)
        return refuse(each.id, errc::log_corrupt);
    if (each.what.what == intervention::kind::skip && open)
        return refuse(each.id, errc::not_stuck);
    action_view taken;
    taken.what = to_string(each.what.what);
    taken.who = each.what.who;
    taken.why = each.what.why;
    log_->change(
        [by = *home.term,
         id = each.id,
         number = found.number,
         taken,
         open,
         progress = found.progress](db::connection& on) -> result<void> {
            if (!log::wish_tables::settle(on, id, {}))
                return error_code(errc::not_open);  // the order was done before
            constexpr int why = static_cast<int>(errc::forced);
            if (open) {
                if (const auto decided =
                        log::log_tables::decide(on, by, number, false, why, taken.why);
                    !decided)
                    return decided.error();
            }
            if (const auto failed = log::log_tables::note_progress(on, by, number, progress, true))
                return failed;
            log::log_views::record(on, number, taken);
            return {};
        },
        db::durability::force,
        with_log([self = shared_from_this()](error_code failed) {
            if (!failed)
                db::bell::ring(self->config_.log);
        })
    );
}

// Whether a branch was stuck at the earlier coordinator and is being asked once more. It may be
// stuck again soon, and then the order applies.
bool coordinator_core::is_unasked(const running& transaction, const intervention& how) {
    for (std::size_t i = 0; i < transaction.branches.size(); ++i) {
        if (concerns(how, i) && transaction.branches[i].unasked)
            return true;
    }
    return false;
}

void coordinator_core::refuse(std::int64_t wish, error_code why) {
    log_->change(
        [wish, why](db::connection& on) { return log::wish_tables::settle(on, wish, why); },
        db::durability::force,
        with_log([self = shared_from_this()](error_code failed, bool) {
            if (!failed)
                db::bell::ring(self->config_.log);
        })
    );
}

}  // namespace mortise::txn::detail
