// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_WRITER_RUNNER_HPP
#define MORTISE_STORE_SQLITE_WRITER_RUNNER_HPP

#include "mortise/coro/detail/batch_worker.hpp"
#include "store/sqlite/sqlite_state.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace mortise::store_detail {

/// Runs the queue of the writer's thread: operations that stand one behind the other become one
/// transaction, everything else runs by itself, and nothing overtakes.
class writer_runner final : public coro::detail::batch_runner {
public:
    /// The most operations in one transaction: they take about a millisecond, for which other
    /// processes wait for the lock of the folder.
    static constexpr std::size_t together_max = 64;

    explicit writer_runner(std::shared_ptr<sqlite_state> state) : state_(std::move(state)) {
        together_.reserve(together_max);
    }

    void run(std::span<const std::shared_ptr<coro::detail::worker_job>> batch) noexcept override;

private:
    void perform() noexcept;

    std::shared_ptr<sqlite_state> state_;
    std::vector<lock_operation*> together_;
};

}  // namespace mortise::store_detail

#endif
