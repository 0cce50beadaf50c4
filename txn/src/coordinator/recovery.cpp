// SPDX-License-Identifier: BSL-1.0
#include "coordinator/recovery.hpp"

#include "coordinator/coordinator_core.hpp"
#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/coro/time_source.hpp"
#include "planted_bugs.hpp"

#include <boost/asio/bind_executor.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace mortise::txn::detail {
namespace {

constexpr std::size_t resumed_at_once = 512;
constexpr std::size_t at_once = 1'024;  // transactions that were taken up and are not slow
constexpr std::size_t ends_between_looks = 256;
constexpr std::size_t purge_portion = 1'024;
constexpr std::size_t ends_portion = 1'024;

}  // namespace

void recovery::recover() {
    for (const auto& each : core_.partitions.all())
        recover(*each);
}

// Takes up the next portion of a partition. Transactions that wait for a participant or for people
// do not hold up the others. Of those that wait for participants, memory holds at most half of
// `open_max`. Those that wait for people do not count here: `put_aside` limits their number.
void recovery::recover(partition& at) {
    if (at.recovering || at.recovery_done || !at.term)
        return;
    const auto room = std::max<std::size_t>(context_.config().open_max / 2, 1);
    const auto waiting = core_.open.resumed_waiting();
    if (core_.open.resumed_fast() >= at_once || waiting >= room)
        return;
    at.recovering = true;
    const auto limit = std::min(resumed_at_once, room - waiting);
    core_.log->ask(
        [partition = at.id, after = at.recovered_to, limit](db::connection& on) {
            return log::log_entries::open_after(on, partition, after, limit);
        },
        asio::bind_executor(
            context_.strand(),
            [this,
             kept = context_.keep(),
             &at,
             id = at.term->id,
             limit,
             read = core_.open.begin_read(
             )](error_code failed, const std::vector<log::logged>& found) {
                if (at.is_in(id) && !context_.closed())
                    recovered(at, failed, found, found.size() < limit, *read);
            }
        )
    );
}

void recovery::recovered(
    partition& at,
    error_code failed,
    const std::vector<log::logged>& found,
    bool all,
    const ends_during_reads::read& read
) {
    at.recovering = false;
    if (failed)
        return core_.log.fail(failed);
    at.recovery_done = all;
    const auto id = at.term->id;
    for (const auto& each : found) {
        if (!at.is_in(id))
            return;
        at.recovered_to = each.number;
        // Skip it if it began here, or was taken up before its turn; it may even have ended by now.
        if (each.term != id && !core_.open.contains(each.number) && !read.is_stale(each.number))
            take_up(at, each);
    }
    context_.arm();
    recover(at);
    if (!found.empty())
        core_.orders.read(0);
    if (at.recovery_done)
        learn_ends();
}

void recovery::mark_slow(running& transaction) {
    if (transaction.fsm.presuming() && core_.open.holds(transaction))
        answer(
            transaction.waiters, {}, outcome_of(transaction)
        );  // nobody knows when it will be decided
    if (core_.open.mark_slow(transaction))
        recover();
}

void recovery::take_up(partition& at, const log::logged& found, stuck_ones choice) {
    MORTISE_CRASH_POINT("txn.take_up");
    auto plan = log::plan::decode(found.plan);
    auto done = found.progress.empty() ? std::optional(log::progress())
                                       : log::progress::decode(found.progress);
    if (!plan || !done) {
        ++context_.count.stuck;
        return;
    }
    const bool alone = core_.lanes.commits_alone(*plan) && !planted_bugs::decide_for_alone();
    const auto transaction = std::make_shared<running>(
        std::make_shared<const log::plan>(std::move(*plan)), core_.weak_from_this(), alone
    );
    transaction->gid = {*core_.log.id(), found.number};
    transaction->home = &at;
    transaction->term = found.term;
    transaction->resumed = true;
    transaction->since = context_.now();
    transaction->until = transaction->since;
    if (done->branches.size() == transaction->branches.size())
        transaction->done = std::move(*done);
    transaction->text = found.text;
    core_.open.add(transaction);
    ++context_.count.taken_up;
    context_.report(txn_event::kind::taken_up, *transaction);
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
        core_.open.mark_stuck(*transaction, true);
        mark_slow(*transaction);
    }
    core_.runs.carry_out(transaction, next);
}

void recovery::keep_stuck(running& transaction, const std::vector<bool>& stuck, steps& next) {
    std::erase_if(next, [&](const auto& step) {
        if (step.branch == 0 || !stuck.at(step.branch - 1))
            return false;
        transaction.fsm.stuck(step.branch);
        transaction.done.branches[step.branch - 1].stuck = true;
        transaction.branches[step.branch - 1].unasked = false;
        return true;
    });
}

// Runs after every 256th end: it need not be exact, and without ends there is nothing to do. A
// search reads everything that is open, so it waits for a quarter as many ends.
void recovery::note_end() {
    if (++ends_untold_ >= std::max(ends_between_looks, open_seen_ / 4))
        learn_ends();
    if (++ends_since_ < ends_between_looks)
        return;
    ends_since_ = 0;
    purge();
}

// Reads which transactions have ended. What participants are told of that may lag behind.
void recovery::learn_ends() {
    if (std::exchange(learning_, true))
        return;
    ends_untold_ = 0;
    search_ends(log::ends_search());
}

void recovery::search_ends(log::ends_search so_far) {
    core_.log->ask(
        [so_far = std::move(so_far)](db::connection& on) {
            return log::log_entries::search_ends(on, so_far, ends_portion);
        },
        core_.log.bound([this, kept = context_.keep()](error_code failed, log::ends_search found) {
            if (!failed && !found.complete && core_.log.is_open() && !context_.closed())
                return search_ends(std::move(found));
            learning_ = false;
            if (failed || !found.complete)
                return;
            open_seen_ = found.seen;
            core_.calls.set_ends(std::move(found.found));
        })
    );
}

// Forgets in portions, because transactions wait for each. A failure is left to the next time.
// Every coordinator does it for all partitions: ended transactions belong to nobody.
void recovery::purge() {
    if (core_.partitions.owned() == 0 || std::exchange(purging_, true))
        return;
    core_.log->change(
        [retention = context_.config().retention, after = purged_to_](db::connection& on) {
            return log::log_entries::purge(on, retention, after, purge_portion);
        },
        db::durability::lazy,
        core_.log.bound([this, kept = context_.keep()](
                            error_code failed, const log::log_entries::purged& purged
                        ) {
            purging_ = false;
            if (failed)
                return;
            context_.count.forgotten += purged.forgotten;
            purged_to_ = purged.seen_to;
            if (purged.seen_to != 0 && purged.forgotten != 0 && core_.log.is_open() &&
                !context_.closed())
                purge();
        })
    );
}

}  // namespace mortise::txn::detail
