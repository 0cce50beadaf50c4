// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/overdue_sweeper.hpp"

#include "mortise/coro/assert.hpp"
#include "sweeper/sweeper_core.hpp"

#include <utility>

namespace mortise::txn {

overdue_sweeper::overdue_sweeper(
    executor_type executor,
    db::sqlite& of,
    std::shared_ptr<outcome_source> asks,
    sweeper_config config
)
    : overdue_sweeper(
          std::move(executor),
          std::shared_ptr<db::sqlite>(std::shared_ptr<void>(), &of),
          std::move(asks),
          std::move(config)
      ) {}

overdue_sweeper::overdue_sweeper(
    executor_type executor,
    std::shared_ptr<db::sqlite> of,
    std::shared_ptr<outcome_source> asks,
    sweeper_config config
)
    : core_(std::make_shared<detail::sweeper_core>(
          std::move(executor), std::move(of), std::move(asks), std::move(config)
      )) {
    core_->attach();
}

overdue_sweeper::~overdue_sweeper() {
    if (core_)
        core_->close();
}

overdue_sweeper::overdue_sweeper(overdue_sweeper&&) noexcept = default;

overdue_sweeper& overdue_sweeper::operator=(overdue_sweeper&& other) noexcept {
    if (const auto before = std::exchange(core_, std::move(other.core_)))
        before->close();
    return *this;
}

overdue_sweeper::executor_type overdue_sweeper::get_executor() const noexcept {
    MORTISE_ASSERT(core_);
    return core_->executor();
}

sweeper_stats overdue_sweeper::stats() const noexcept {
    return core_->stats();
}

namespace detail {

void start_sweeper_stop(
    coro::detail::completion<void(error_code)> done, std::shared_ptr<sweeper_core> core
) {
    core->stop(std::move(done));
}

}  // namespace detail

}  // namespace mortise::txn
