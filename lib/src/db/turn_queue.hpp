// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_TURN_QUEUE_HPP
#define MORTISE_DB_TURN_QUEUE_HPP

#include "mortise/coro/detail/completion.hpp"
#include "mortise/coro/detail/initiate.hpp"
#include "mortise/coro/detail/wait_list.hpp"

#include <cstddef>
#include <memory>
#include <utility>

namespace mortise::db::detail {

class turn_queue;

/// The right to use one connection of a pool. Its end gives the right to the oldest waiter.
class [[nodiscard]] turn {
public:
    turn() noexcept = default;
    turn(turn&&) noexcept = default;
    turn& operator=(turn&& other) noexcept {
        turn taken(std::move(other));
        std::swap(row_, taken.row_);
        return *this;
    }
    ~turn();

private:
    friend class turn_queue;
    explicit turn(std::shared_ptr<turn_queue> row) noexcept : row_(std::move(row)) {}

    std::shared_ptr<turn_queue> row_;
};

/// A number of turns, and those who wait for one, first come, first served.
///
/// @par Threads Any, for all members.
class turn_queue : public std::enable_shared_from_this<turn_queue> {
public:
    using completion = coro::detail::completion<void(error_code, turn)>;

    explicit turn_queue(std::size_t count) noexcept : free_(count), all_(count) {}

    /// Waits for a turn. Errors: `operation_aborted`, if cancelled or closed.
    template <class Token>
    auto async_take(const asio::any_io_executor& executor, Token&& token) {
        return coro::detail::async_start<void(error_code, turn)>(
            executor,
            std::forward<Token>(token),
            [](completion done, std::shared_ptr<turn_queue> row) { row->take(std::move(done)); },
            shared_from_this()
        );
    }

    /// Aborts all who wait, and all later ones.
    void close() noexcept { waiting_.close(); }

    /// Waits until all turns are free. Errors: `operation_aborted`, if cancelled.
    void wait_empty(coro::detail::completion<void(error_code)> done);

    std::size_t taken() const noexcept;
    std::size_t waiting() const noexcept { return waiting_.size(); }

private:
    friend class turn;

    void take(completion done);
    void give_back() noexcept;
    bool came_back() noexcept;

    coro::detail::wait_list<turn> waiting_;
    coro::detail::wait_list<> until_empty_;
    // Under the mutex of `waiting_`:
    std::size_t free_;
    const std::size_t all_;
    std::size_t came_back_ = 0;
    bool handing_over_ = false;
};

}  // namespace mortise::db::detail

#endif
