// SPDX-License-Identifier: BSL-1.0
#include "coordinator/running.hpp"

#include "coordinator/coordinator_core.hpp"

#include <boost/asio/error.hpp>

#include <utility>

namespace mortise::txn::detail {

outcome outcome_of(const running& transaction) {
    const auto kind = !transaction.proof             ? outcome::kind::unknown
                      : transaction.proof->confirm() ? outcome::kind::confirmed
                                                     : outcome::kind::cancelled;
    if (kind == outcome::kind::confirmed)
        return {kind, transaction.gid};
    return {kind, transaction.gid, transaction.why, transaction.text};
}

void answer(std::vector<outcome_handler>& waiters, error_code failed, const outcome& decision) {
    for (auto& each : std::exchange(waiters, {}))
        each.complete(failed, decision);
}

void answer(std::vector<settler_ptr>& waiters, error_code failed, const outcome& decision) {
    for (const auto& each : std::exchange(waiters, {}))
        each->answer(failed, decision);
}

namespace {

asio::any_io_executor strand_of(const std::weak_ptr<coordinator_core>& coordinator) {
    const auto core = coordinator.lock();
    return core && !core->context.deserted() ? core->context.strand() : asio::any_io_executor();
}

}  // namespace

asio::any_io_executor running::strand() const {
    return strand_of(of);
}

asio::any_io_executor settler::strand() const {
    return strand_of(core_);
}

void running::on_cancel(asio::cancellation_type_t) {
    if (const auto core = of.lock())
        core->runs.withdraw(*this);
}

void settler::on_cancel(asio::cancellation_type_t) {
    if (!waits())
        return;
    answer(asio::error::operation_aborted, outcome(outcome::kind::unknown, gid));
    if (const auto core = core_.lock())
        core->outcomes.dismiss(*this);
}

}  // namespace mortise::txn::detail
