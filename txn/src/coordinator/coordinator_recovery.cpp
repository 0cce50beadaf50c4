// SPDX-License-Identifier: BSL-1.0
// Finishes what an earlier coordinator left behind, in portions.
#include "coordinator/coordinator_core.hpp"
#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/coro/time_source.hpp"

#include <boost/asio/bind_executor.hpp>

#include <algorithm>
#include <utility>

namespace mortise::txn::detail {
namespace {

constexpr std::size_t resumed_at_once = 512;
constexpr std::size_t at_once = 1'024;  // transactions that were taken up and are not slow
constexpr std::size_t ends_between_looks = 256;
constexpr std::size_t purge_portion = 1'024;
constexpr std::size_t open_looked_at = 1'024;

}  // namespace

void coordinator_core::recover() {
    for (const auto& each : partitions_)
        recover(*each);
}

// Takes up the next portion of a partition. Transactions that wait for a participant or for people
// do not hold up the others. Of those that wait for participants, memory holds at most half of
// `open_max`. Those that wait for people do not count here: `put_aside` limits their number.
void coordinator_core::recover(partition& at) {
    if (at.recovering || at.recovery_done || !at.term)
        return;
    const auto room = std::max<std::size_t>(config_.open_max / 2, 1);
    const auto waiting = resumed_ - resumed_for_people_;
    if (resumed_ - slow_ >= at_once || waiting >= room)
        return;
    at.recovering = true;
    const auto limit = std::min(resumed_at_once, room - waiting);
    log_->ask(
        [partition = at.id, after = at.recovered_to, limit](db::connection& on) {
            return log::log_tables::open_after(on, partition, after, limit);
        },
        asio::bind_executor(
            seat_.strand(),
            [self = shared_from_this(),
             &at,
             id = at.term->id,
             limit,
             read = ends_during_reads_.begin(
             )](error_code failed, const std::vector<log::logged>& found) {
                if (at.is_in(id) && !self->closed_)
                    self->recovered(at, failed, found, found.size() < limit, *read);
            }
        )
    );
}

void coordinator_core::recovered(
    partition& at,
    error_code failed,
    const std::vector<log::logged>& found,
    bool all,
    const ends_during_reads::read& read
) {
    at.recovering = false;
    if (failed)
        return log_failed(failed);
    at.recovery_done = all;
    const auto id = at.term->id;
    for (const auto& each : found) {
        if (!at.is_in(id))
            return;
        at.recovered_to = each.number;
        // Skip it if it began here, or was taken up before its turn; it may even have ended by now.
        if (each.term != id && !open_.contains(each.number) && !read.is_stale(each.number))
            take_up(at, each);
    }
    arm();
    recover(at);
    if (!found.empty())
        read_wishes(0);
    if (at.recovery_done)
        learn_ends();
}

void coordinator_core::is_slow(running& transaction) {
    if (transaction.fsm.presuming() && !gone(transaction))
        answer(
            transaction.waiters, {}, outcome_of(transaction)
        );  // nobody knows when it will be decided
    if (!transaction.resumed || transaction.slow || gone(transaction))
        return;
    transaction.slow = true;
    ++slow_;
    recover();
}

// Resumes a transaction. One whose records cannot be read stays in the log, for people.
void coordinator_core::take_up(partition& at, const log::logged& found, stuck_ones choice) {
    MORTISE_CRASH_POINT("txn.take_up");
    auto plan = log::plan::decode(found.plan);
    auto done = found.progress.empty() ? std::optional(log::progress())
                                       : log::progress::decode(found.progress);
    if (!plan || !done) {
        ++count_.stuck;
        return;
    }
    const auto transaction = std::make_shared<running>(
        std::make_shared<const log::plan>(std::move(*plan)), weak_from_this()
    );
    transaction->gid = {*log_id_, found.number};
    transaction->home = &at;
    transaction->term = found.term;
    transaction->resumed = true;
    transaction->since = now();
    transaction->until = transaction->since;
    if (done->branches.size() == transaction->branches.size())
        transaction->done = std::move(*done);
    transaction->text = found.text;
    open_.emplace(transaction->gid.number, transaction);
    ++resumed_;
    ++count_.taken_up;
    ++count_.open;
    tell_of(txn_event::kind::taken_up, *transaction);
    std::vector<bool> stuck;
    for (const auto& each : transaction->done.branches)
        stuck.push_back(each.stuck && choice == stuck_ones::keep);
    steps next;
    if (found.at == standing::open) {
        transaction->why = errc::interrupted;
        transaction->fsm.resume_undecided(next);
    } else {
        transaction->proof = log::decision_log::proof_of(*at.term, found);
        if (found.why != 0)
            transaction->why = static_cast<errc>(found.why);
        std::vector<bool> finished;
        for (std::size_t i = 0; i < transaction->done.branches.size(); ++i) {
            auto& each = transaction->done.branches[i];
            finished.push_back(each.finished);
            // Ask once more: the cause may be gone.
            transaction->branches[i].unasked = std::exchange(each.stuck, false);
        }
        transaction->fsm.resume_decided(transaction->proof->confirm(), finished, next);
    }
    keep_stuck(*transaction, stuck, next);
    for (std::size_t i = 0; i < stuck.size(); ++i) {
        if (!transaction->fsm.is_stuck(static_cast<branch_number>(i + 1)))
            continue;
        waits_for_people(*transaction, true);
        is_slow(*transaction);
    }
    carry_out(transaction, next);
}

void coordinator_core::keep_stuck(
    running& transaction, const std::vector<bool>& stuck, steps& next
) {
    std::erase_if(next, [&](const auto& step) {
        if (step.branch == 0 || !stuck.at(step.branch - 1))
            return false;
        transaction.fsm.stuck(step.branch);
        transaction.done.branches[step.branch - 1].stuck = true;
        transaction.branches[step.branch - 1].unasked = false;
        return true;
    });
}

// Runs after every 256th end: it need not be exact, and without ends there is nothing to do.
void coordinator_core::housekeeping() {
    if (++ends_since_ < ends_between_looks)
        return;
    ends_since_ = 0;
    learn_ends();
    purge();
}

// Reads which transactions have ended. What participants are told of that may lag behind.
void coordinator_core::learn_ends() {
    if (std::exchange(learning_, true))
        return;
    log_->ask(
        [](db::connection& on) { return log::log_tables::ends(on, open_looked_at); },
        with_log([self = shared_from_this()](error_code failed, log::ends_below found) {
            self->learning_ = false;
            if (!failed)
                self->ends_ = std::move(found);
        })
    );
}

// Forgets in portions, because transactions wait for each. A failure is left to the next time.
// Every coordinator does it for all partitions: ended transactions belong to nobody.
void coordinator_core::purge() {
    if (owned() == 0 || std::exchange(purging_, true))
        return;
    log_->change(
        [retention = config_.retention, after = purged_to_](db::connection& on) {
            return log::log_tables::purge(on, retention, after, purge_portion);
        },
        db::durability::lazy,
        with_log([self = shared_from_this(
                  )](error_code failed, const log::log_tables::purged& purged) {
            self->purging_ = false;
            if (failed)
                return;
            self->count_.forgotten += purged.forgotten;
            self->purged_to_ = purged.seen_to;
            if (purged.seen_to != 0 && purged.forgotten != 0 && self->log_ && !self->closed_)
                self->purge();
        })
    );
}

}  // namespace mortise::txn::detail
