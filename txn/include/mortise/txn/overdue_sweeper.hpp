// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_OVERDUE_SWEEPER_HPP
#define MORTISE_TXN_OVERDUE_SWEEPER_HPP

#include "mortise/coro/detail/initiate.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/txn/outcome_source.hpp"
#include "mortise/txn/sweeper_config.hpp"
#include "mortise/txn/sweeper_stats.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/deferred.hpp>

#include <memory>
#include <utility>

namespace mortise::txn {

namespace detail {
class sweeper_core;
void start_sweeper_stop(
    coro::detail::completion<void(error_code)> done, std::shared_ptr<sweeper_core> core
);
}  // namespace detail

/// Looks after the overdue reservations of a `barrier`: it asks their coordinator, which then
/// finishes them by its usual calls.
///
/// The sweeper gives nothing back on its own. While the coordinator cannot be asked, the
/// reservation is kept, and counted. The sweeper asks again after a pause, which doubles up to a
/// limit.
///
/// @par Threads   All members may be called from any thread.
/// @par Lifetimes A session passed by reference must live until `async_stop` has completed, or
///                until the context has ended. The destructor begins a stop.
/// @par Cost      One short read of the database per look; one timer; and one question at a time,
///                with a pause after each.
class overdue_sweeper {
public:
    using executor_type = asio::any_io_executor;

    /// Begins to look for overdue reservations.
    /// @throws error (`bad_config`) if the configuration breaks a limit.
    overdue_sweeper(
        executor_type executor,
        db::sqlite& of,
        std::shared_ptr<outcome_source> asks,
        sweeper_config config = sweeper_config()
    );
    /// The same for a shared session, which is kept until the sweeper has ended.
    overdue_sweeper(
        executor_type executor,
        std::shared_ptr<db::sqlite> of,
        std::shared_ptr<outcome_source> asks,
        sweeper_config config = sweeper_config()
    );
    ~overdue_sweeper();
    overdue_sweeper(overdue_sweeper&&) noexcept;
    overdue_sweeper& operator=(overdue_sweeper&&) noexcept;

    executor_type get_executor() const noexcept;
    sweeper_stats stats() const noexcept;

    /// Stops looking and asking.
    ///
    /// @par Completion   `void(error_code)`, when the sweeper has ended.
    /// @par Cancellation ignored.
    /// @par Threads      Any thread. Completes by post to the handler's executor, never from
    ///                   inside.
    template <class Token = asio::deferred_t>
    auto async_stop(Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code)>(
            get_executor(), std::forward<Token>(token), &detail::start_sweeper_stop, core_
        );
    }

private:
    std::shared_ptr<detail::sweeper_core> core_;
};

}  // namespace mortise::txn

#endif
