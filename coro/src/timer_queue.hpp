// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_SRC_TIMER_QUEUE_HPP
#define MORTISE_CORO_SRC_TIMER_QUEUE_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/completion.hpp"
#include "mortise/coro/detail/wait_entry.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace mortise::coro::detail {

/// Waits in the order of their moments, those of one moment in the order of their arrival.
///
/// @par Threads      Any.
class timer_queue : public wait_core, public std::enable_shared_from_this<timer_queue> {
public:
    using completion_type = completion<void(error_code)>;

    void add(clock::time_point when, completion_type done);

    /// Completes, by post, all waits up to `now`. Returns how many.
    std::size_t complete_due(clock::time_point now);

    /// The earliest moment of all waits, which may be `time_point::max()`.
    std::optional<clock::time_point> next();

    /// Completes all present and later waits with `operation_aborted`.
    void close() noexcept;

protected:
    std::optional<clock::time_point> earliest() const noexcept;  // under the mutex

private:
    class entry;
    using key = std::pair<clock::time_point, std::uint64_t>;

    /// Called under the mutex when `when` became the earliest moment.
    virtual void earliest_changed([[maybe_unused]] clock::time_point when) {}

    void remove(wait_entry& gone) noexcept override;
    std::shared_ptr<wait_entry> pop(clock::time_point now) noexcept;

    std::map<key, std::shared_ptr<entry>> waits_;
    std::uint64_t tickets_ = 0;
    bool closed_ = false;
};

}  // namespace mortise::coro::detail

#endif
