// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_TURN_JOB_HPP
#define MORTISE_STORE_SQLITE_TURN_JOB_HPP

#include "mortise/coro/detail/worker_job.hpp"
#include "store/sqlite/pending_operation.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <memory>
#include <vector>

namespace mortise::store_detail {

/// The operations that one turn of the strand asked for: the writer's thread is woken once for all
/// of them, and so is the strand's.
///
/// @par Threads On the strand until it is submitted; then it belongs to the worker.
class turn_job final : public coro::detail::worker_job {
public:
    using operations = std::vector<std::unique_ptr<pending_operation>>;

    explicit turn_job(asio::any_io_executor strand);

    void add(std::unique_ptr<pending_operation> operation) {
        asked_.push_back(std::move(operation));
    }
    const operations& asked() const noexcept { return asked_; }

    /// Does nothing: `writer_runner` does the work.
    void run() noexcept override {}
    void deliver() noexcept override;
    void finish(error_code why) noexcept override;
    void drop() noexcept override;
    asio::execution_context* context() noexcept override;
    asio::cancellation_slot slot() noexcept override { return {}; }

private:
    asio::any_io_executor strand_;
    operations asked_;
};

}  // namespace mortise::store_detail

#endif
