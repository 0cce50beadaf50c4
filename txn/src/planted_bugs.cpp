// SPDX-License-Identifier: BSL-1.0
#include "planted_bugs.hpp"

#ifdef MORTISE_PLANT_BUGS
#include "coordinator/coordinator_core.hpp"
#include "mortise/coro/detail/crash_point.hpp"

#include <boost/asio/post.hpp>

#include <chrono>

namespace mortise::txn::detail {

bool planted_bugs::confirm_before_commit(coordinator_core& core, const running_ptr& transaction) {
    if (!MORTISE_PLANTED_NAME("confirm_before_commit"))
        return false;
    log::logged never;
    never.number = transaction->gid.number;
    never.at = standing::confirmed;
    asio::post(core.context.strand(), [&core, kept = core.context.keep(), transaction, never] {
        if (!core.open.holds(*transaction))
            return;
        auto proof = log::decision_log::proof_of(*transaction->home->term, never);
        core.runs.decided(transaction, {}, proof);
    });
    const auto late = core.context.now() + std::chrono::milliseconds(500);
    core.context.set_timer(transaction->timer, late, [&core, transaction] {
        if (!core.log.is_open() || !transaction->home->term)
            return;
        const auto ignore = [](error_code, const std::optional<log::durable_decision>&) {};
        core.log->decide(
            *transaction->home->term, transaction->gid.number, true, 0, "", "", ignore
        );
    });
    return true;
}

bool planted_bugs::log_without_epoch() noexcept {
    return MORTISE_PLANTED_NAME("log_without_epoch");
}

bool planted_bugs::no_tombstone() noexcept {
    return MORTISE_PLANTED_NAME("no_tombstone");
}

void planted_bugs::forget_elsewhere(
    coordinator_core& core, const txn::gid& of, prepared_standing& at
) {
    if (MORTISE_PLANTED_NAME("forget_elsewhere") && !core.open.contains(of.number))
        at = prepared_standing::unknown;
}

bool planted_bugs::foreign_branches() noexcept {
    return MORTISE_PLANTED_NAME("foreign_branches");
}

bool planted_bugs::roll_back_and_retry() noexcept {
    return MORTISE_PLANTED_NAME("roll_back_and_retry");
}

bool planted_bugs::decide_for_alone() noexcept {
    return MORTISE_PLANTED_NAME("decide_for_alone");
}

bool planted_bugs::decide_without_progress() noexcept {
    return MORTISE_PLANTED_NAME("decide_without_progress");
}

bool planted_bugs::lazy_for_all() noexcept {
    return MORTISE_PLANTED_NAME("lazy_for_all");
}

bool planted_bugs::reuse_numbers() noexcept {
    return MORTISE_PLANTED_NAME("reuse_numbers");
}

}  // namespace mortise::txn::detail
#endif
