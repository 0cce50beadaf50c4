// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_WRITE_BATCH_HPP
#define MORTISE_STORE_SQLITE_WRITE_BATCH_HPP

#include "mortise/coro/detail/batch_worker.hpp"
#include "mortise/coro/detail/completion.hpp"
#include "mortise/coro/detail/worker_job.hpp"
#include "store/sqlite/lock_operations.hpp"
#include "store/sqlite/sqlite_state.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

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

/// Runs the queue of the writer's thread: operations that stand one behind the other become one
/// transaction, everything else runs by itself, and nothing overtakes.
///
/// @par Threads The writer's, but for `alone`.
class write_batch final : public coro::detail::batch_runner,
                          public std::enable_shared_from_this<write_batch> {
public:
    /// The most operations in one transaction: they take about a millisecond, for which other
    /// processes wait for the lock of the folder.
    static constexpr std::size_t together_max = 64;

    explicit write_batch(std::shared_ptr<sqlite_state> state) : state_(std::move(state)) {
        together_.reserve(together_max);
    }

    void run(std::span<const std::shared_ptr<coro::detail::worker_job>> batch) noexcept override;

    /// Adds an operation to the next transaction. It must live until that has run.
    void add(lock_operation& operation) noexcept;
    /// Runs the transaction of the operations that were added.
    void perform() noexcept;

    /// A closure that runs `job` after the operations that stand before it.
    template <class Job>
    auto alone(Job job) {
        return [batch = shared_from_this(), job = std::move(job)]() mutable {
            batch->perform();
            return job();
        };
    }

private:
    std::shared_ptr<sqlite_state> state_;
    std::vector<lock_operation*> together_;
};

/// The operations that one turn of the strand asked for: the writer's thread is woken once for all
/// of them, and so is the strand's.
///
/// @par Threads On the strand until it is submitted; then it belongs to the worker.
class turn_job final : public coro::detail::worker_job {
public:
    turn_job(asio::any_io_executor strand, std::shared_ptr<write_batch> batch) noexcept
        : strand_(std::move(strand)), batch_(std::move(batch)) {}

    void add(std::unique_ptr<pending_operation> operation) {
        asked_.push_back(std::move(operation));
    }

    /// Adds the operations to the batch.
    void run() noexcept override;
    void deliver() noexcept override;
    void finish(error_code why) noexcept override;
    void drop() noexcept override;
    asio::execution_context* context() noexcept override;
    asio::cancellation_slot slot() noexcept override { return {}; }

private:
    asio::any_io_executor strand_;
    std::shared_ptr<write_batch> batch_;
    std::vector<std::unique_ptr<pending_operation>> asked_;
};

}  // namespace mortise::store_detail

#endif
