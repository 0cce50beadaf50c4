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
    coro::detail::completion<void(error_code)> done, std::shared_ptr<sweeper_core> which
);
}  // namespace detail

/// Looks after the reservations of a `barrier` whose time is up: it asks their coordinator, which
/// then finishes them by its usual calls.
///
/// It gives nothing back by itself. As long as the coordinator cannot be asked the reservation is
/// kept, and counted; it is asked for again after a pause, which doubles up to a limit.
///
/// @par Threads   All members: any.
/// @par Lifetimes A session that is not shared has to live until `async_stop` has completed, or
///                until the context has ended. The destructor begins a stop.
/// @par Cost      One short look at the database each time; one timer; and one question at a time,
///                with a pause behind it.
class overdue_sweeper {
public:
    using executor_type = asio::any_io_executor;

    /// Looks from here on.
    /// @throws error (`bad_config`) if the configuration breaks a limit.
    overdue_sweeper(
        executor_type executor,
        db::sqlite& of,
        std::shared_ptr<outcome_source> asks,
        sweeper_config config = sweeper_config()
    );
    /// The same, of a session that others share: it is kept until the sweeper has ended.
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

    /// Looks and asks no more.
    ///
    /// @par Completion   `void(error_code)`, when it has ended.
    /// @par Cancellation ignored.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
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
