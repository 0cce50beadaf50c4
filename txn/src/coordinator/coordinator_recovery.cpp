// SPDX-License-Identifier: BSL-1.0
// What a coordinator before left behind is finished, in portions.
#include "coordinator/coordinator_core.hpp"
#include "mortise/coro/time_source.hpp"

#include <boost/asio/bind_executor.hpp>

#include <utility>

namespace mortise::txn::detail {
namespace {

constexpr std::size_t portion = 512;
constexpr std::size_t at_once = 1'024;  // transactions in memory that were taken up
constexpr std::size_t ends_between_looks = 256;

}  // namespace

void coordinator_core::recover() {
    if (recovering_ || recovery_done_ || !term_ || open_.size() >= at_once)
        return;
    recovering_ = true;
    log_->ask(
        [partition = term_->partition, after = recovered_to_](db::connection& on) {
            return log::log_tables::open_after(on, partition, after, portion);
        },
        asio::bind_executor(
            *strand_,
            [self = shared_from_this(),
             number = log_number_](error_code failed, const std::vector<log::logged>& found) {
                if (number == self->log_number_ && !self->closed_)
                    self->recovered(failed, found);
            }
        )
    );
}

void coordinator_core::recovered(error_code failed, const std::vector<log::logged>& found) {
    recovering_ = false;
    if (failed)
        return log_failed(failed);
    recovery_done_ = found.size() < portion;
    for (const auto& each : found) {
        if (!term_)
            return;
        recovered_to_ = each.number;
        if (each.term != term_->id)  // else it has begun meanwhile, and is ours
            take_up(each);
    }
    arm();
    recover();
    if (recovery_done_)
        learn_ends();
}

// @throws nothing: what cannot be read stays in the log, for people.
void coordinator_core::take_up(const log::logged& found) {
    auto plan = log::plan::decode(found.plan);
    auto done = found.progress.empty() ? std::optional(log::progress())
                                       : log::progress::decode(found.progress);
    if (!plan || !done) {
        ++count_.stuck;
        return;
    }
    const auto what = std::make_shared<running>(
        std::make_shared<const log::plan>(std::move(*plan)), weak_from_this()
    );
    what->which = {term_->log, found.number};
    what->term = found.term;
    what->resumed = true;
    what->since = now();
    what->until = what->since;
    if (done->branches.size() == what->branches.size())
        what->done = std::move(*done);
    what->text = found.text;
    open_.emplace(what->which.number, what);
    ++count_.taken_up;
    ++count_.open;
    steps next;
    if (found.at == standing::open) {
        what->why = errc::interrupted;
        what->fsm.resume_undecided(next);
    } else {
        what->proof = log::decision_log::proof_of(*term_, found);
        if (found.why != 0)
            what->why = static_cast<errc>(found.why);
        std::vector<bool> finished;
        for (auto& each : what->done.branches) {
            finished.push_back(each.finished);
            each.stuck = false;  // Asked once more: somebody may have mended it.
        }
        what->fsm.resume_decided(what->proof->confirm(), finished, next);
    }
    carry_out(what, next);
}

// What participants are told of the ends may lag behind.
void coordinator_core::learn_ends() {
    if (learning_ || !term_ || (++ends_since_ < ends_between_looks && ended_below_ != 0))
        return;
    learning_ = true;
    ends_since_ = 0;
    log_->ask(
        [](db::connection& on) { return log::log_tables::ended_below(on); },
        asio::bind_executor(
            *strand_,
            [self = shared_from_this(),
             number = log_number_](error_code failed, std::uint64_t below) {
                if (number != self->log_number_)
                    return;
                self->learning_ = false;
                if (!failed)
                    self->ended_below_ = below;
            }
        )
    );
}

}  // namespace mortise::txn::detail
