// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/coordinator.hpp"

#include "coordinator/coordinator_core.hpp"
#include "mortise/coro/assert.hpp"

#include <utility>

namespace mortise::txn {

coordinator::coordinator(executor_type executor, coordinator_config config)
    : core_(std::make_shared<detail::coordinator_core>(std::move(executor), std::move(config))) {
    core_->attach();
}

coordinator::~coordinator() {
    if (core_)
        core_->close();
}

coordinator::coordinator(coordinator&&) noexcept = default;

coordinator& coordinator::operator=(coordinator&& other) noexcept {
    if (const auto before = std::exchange(core_, std::move(other.core_)))
        before->close();
    return *this;
}

coordinator::executor_type coordinator::get_executor() const noexcept {
    MORTISE_ASSERT(core_);
    return core_->context.executor();
}

coordinator_stats coordinator::stats() const noexcept {
    return core_->context.stats();
}

namespace detail {

void start_run(outcome_handler handler, core_ptr core, transaction transaction) {
    core->admission.admit(std::move(transaction), std::move(handler));
}

void start_ask(outcome_handler handler, core_ptr core, gid gid) {
    core->outcomes.ask(gid, std::move(handler));
}

void start_settle(outcome_handler handler, core_ptr core, gid gid) {
    core->outcomes.settle(gid, std::move(handler));
}

void start_show(
    coro::detail::completion<void(error_code, std::optional<transaction_view>)> handler,
    core_ptr core,
    gid gid
) {
    core->operators.show(gid, std::move(handler));
}

void start_list(
    coro::detail::completion<void(error_code, std::vector<transaction_view>)> handler,
    core_ptr core,
    list_filter filter,
    std::uint64_t after,
    std::size_t limit
) {
    core->operators.list(filter, after, limit, std::move(handler));
}

void start_intervene(
    coro::detail::completion<void(error_code)> handler, core_ptr core, intervention order
) {
    core->operators.intervene(std::move(order), std::move(handler));
}

void start_log_stats(
    coro::detail::completion<void(error_code, db::sqlite_stats)> handler, core_ptr core
) {
    core->log.stats(std::move(handler));
}

void start_stop(coro::detail::completion<void(error_code)> handler, core_ptr core) {
    core->stop(std::move(handler));
}

}  // namespace detail
}  // namespace mortise::txn
