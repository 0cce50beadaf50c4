// SPDX-License-Identifier: BSL-1.0
// Records of a coordinator's log, and names of transactions: any content is refused or can be
// carried out, and a record that was read is written again as it was.
#include "core/tcc_fsm.hpp"
#include "fuzz/target.hpp"
#include "log/plan.hpp"
#include "mortise/txn/gid.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace mortise::fuzz::txn_records_target {
namespace {

using txn::core::tcc_fsm;

// Carries a transaction that was taken up to its end.
void carry_through(tcc_fsm& fsm, tcc_fsm::steps next, bool confirm) {
    std::size_t calls = 0;
    bool settled = false;
    for (std::size_t at = 0; at < next.size(); ++at) {
        MORTISE_ASSERT(!settled);
        const auto step = next[at];
        switch (step.type) {
        case tcc_fsm::action::decide_cancel:
            fsm.decided(false, next);
            break;
        case tcc_fsm::action::send_confirm:
        case tcc_fsm::action::send_cancel:
            MORTISE_ASSERT(confirm == (step.type == tcc_fsm::action::send_confirm));
            ++calls;
            fsm.finished(step.branch, next);
            break;
        case tcc_fsm::action::settle:
            settled = true;
            break;
        case tcc_fsm::action::send_try:
        case tcc_fsm::action::decide_confirm:
            MORTISE_ASSERT(false);
        }
    }
    MORTISE_ASSERT(settled && calls <= fsm.size());
}

void take_up(const txn::log::plan& plan, const txn::log::progress& done, bool confirm) {
    tcc_fsm::steps next;
    tcc_fsm undecided(plan.branches);
    undecided.resume_undecided(next);
    carry_through(undecided, next, false);
    std::vector<bool> finished;
    for (const auto& each : done.branches)
        finished.push_back(each.finished);
    finished.resize(plan.branches.size());
    next.clear();
    tcc_fsm decided(plan.branches);
    decided.resume_decided(confirm, finished, next);
    carry_through(decided, next, confirm);
}

void check_plan(const txn::log::plan& plan) {
    MORTISE_ASSERT(!plan.branches.empty() && plan.branches.size() <= txn::log::branches_max);
    for (std::size_t i = 0; i < plan.branches.size(); ++i) {
        for (const auto before : plan.branches[i].after)
            MORTISE_ASSERT(before >= 1 && before <= i);
    }
    MORTISE_ASSERT(txn::log::plan::decode(plan.encode()) == plan);
}

}  // namespace

MORTISE_FUZZ_TARGET(txn_records) {
    const bool confirm = in.pick(2) != 0;
    const std::string name = in.text(40);
    if (const auto gid = txn::gid::parse(name))
        MORTISE_ASSERT(gid->text() == name && *gid);
    const std::string first = in.text(200);
    const auto done = txn::log::progress::decode(first);
    if (done)
        MORTISE_ASSERT(txn::log::progress::decode(done->encode()) == *done);
    const auto plan = txn::log::plan::decode(in.rest());
    if (!plan)
        return;
    check_plan(*plan);
    take_up(*plan, done.value_or(txn::log::progress()), confirm);
}

}  // namespace mortise::fuzz::txn_records_target
