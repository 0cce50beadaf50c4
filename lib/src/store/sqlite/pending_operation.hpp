// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_PENDING_OPERATION_HPP
#define MORTISE_STORE_SQLITE_PENDING_OPERATION_HPP

#include "mortise/coro/detail/completion.hpp"
#include "store/sqlite/lock_operation.hpp"

#include <utility>

namespace mortise::store_detail {

/// An operation whose outcome somebody awaits.
class pending_operation {
public:
    virtual ~pending_operation() = default;

    virtual lock_operation& operation() noexcept = 0;
    /// Delivers the outcome. Called once.
    virtual void complete() noexcept = 0;

protected:
    pending_operation() = default;
    pending_operation(const pending_operation&) = default;
    pending_operation& operator=(const pending_operation&) = default;
};

template <class Operation>
class awaited_operation final : public pending_operation {
public:
    using outcome_type = outcome<typename Operation::value_type>;
    using signature = void(outcome_type);
    using completion = coro::detail::completion<signature>;

    awaited_operation(completion done, Operation&& operation)
        : done_(std::move(done)), operation_(std::move(operation)) {}

    lock_operation& operation() noexcept override { return operation_; }
    void complete() noexcept override { done_.complete(std::move(operation_.out)); }

private:
    completion done_;
    Operation operation_;
};

}  // namespace mortise::store_detail

#endif
