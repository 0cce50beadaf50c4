// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_MYSQL_WIRE_HPP
#define MORTISE_MYSQL_WIRE_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/cancel_proxy.hpp"
#include "mysql/mysql_failure.hpp"
#include "mysql/mysql_place.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/mysql/any_connection.hpp>
#include <boost/mysql/statement.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::db::detail {

/// The executor without a claim on its context, for a handler in a slot of the user's, which may
/// outlive the context.
inline asio::any_io_executor without_work(const asio::any_io_executor& executor) {
    return asio::prefer(executor, asio::execution::outstanding_work.untracked);
}

/// Passes a signal of the user's on to a coroutine, whose own handlers the user's slot must not
/// own.
class signal_relay : public std::enable_shared_from_this<signal_relay> {
public:
    void listen(asio::cancellation_slot slot, const asio::any_io_executor& executor) {
        coro::detail::install_cancel_proxy<signal_relay>(
            slot, without_work(executor), weak_from_this()
        );
    }
    void on_cancel(asio::cancellation_type type) { signal_.emit(type); }
    asio::cancellation_slot slot() noexcept { return signal_.slot(); }

private:
    asio::cancellation_signal signal_;
};

/// Counts of all connections of a session.
struct mysql_counts {
    std::atomic<std::uint64_t> opened{0};
    std::atomic<std::uint64_t> failed{0};
    std::atomic<std::uint64_t> abandoned{0};
    std::atomic<std::uint64_t> committed{0};
    std::atomic<std::uint64_t> rolled_back{0};
    std::atomic<std::uint64_t> repeated{0};
    std::atomic<std::uint64_t> unknown{0};
    std::atomic<std::uint64_t> cancelled{0};
};

/// One connection to the server, with the statements that were prepared on it.
///
/// @par Threads One at a time. Its operations run on the executor of the coroutine that awaits
///              them, so that each transaction may come from another one.
class mysql_wire {
public:
    mysql_wire(
        asio::any_io_executor executor,
        std::shared_ptr<mysql_place> place,
        std::shared_ptr<mysql_counts> counts
    );

    /// Connects, within the limit. Cancelling it spoils the wire, as with the functions below.
    asio::awaitable<mysql_failure> open(std::chrono::milliseconds limit);

    /// Runs statements one after the other in one message, within the limit. @return the first
    /// failure; later statements have run all the same.
    asio::awaitable<mysql_failure>
    run(std::vector<std::string> statements, std::chrono::milliseconds limit);

    /// Whether the server answers within the limit.
    asio::awaitable<bool> answers(std::chrono::milliseconds limit);

    /// Takes leave of the server.
    asio::awaitable<void> close();

    boost::mysql::any_connection& connection() noexcept { return connection_; }
    const std::shared_ptr<mysql_place>& place() const noexcept { return place_; }
    mysql_counts& counts() const noexcept { return *counts_; }
    asio::any_io_executor executor() { return connection_.get_executor(); }

    /// A statement that was prepared before; null if there is none.
    const boost::mysql::statement* find(const std::string& sql) noexcept;
    void keep(std::string sql, boost::mysql::statement prepared);
    /// Takes out the statement that was not used for longest, if there are too many.
    std::optional<boost::mysql::statement> take_surplus();

    /// Notes a failure of a statement. @return whether the wire is still of use.
    bool note(const mysql_failure& failure);
    /// The wire must not be used again.
    void spoil() noexcept { usable_ = false; }
    bool usable() const noexcept { return usable_; }

    /// A failure as it is thrown: with the remedy for its code, and without the password.
    error explain(mysql_failure failure) const;

    /// The present transaction.
    struct transaction {
        bool open = false;
        std::uint64_t number = 0;  ///< By which its outcome can be looked up; zero: it cannot.
        error_code ending;         ///< Why the server has undone it, or a part of it.
    };
    transaction present;

    /// Abandons the statement of the closure that is under way; empty if none is.
    std::function<void()> abandon_call;

    /// When it was opened, and when its last transaction ended.
    clock::time_point opened_at{};
    clock::time_point idle_since{};

private:
    struct kept_statement {
        boost::mysql::statement prepared;
        std::uint64_t used = 0;
    };

    const std::shared_ptr<mysql_place> place_;
    const std::shared_ptr<mysql_counts> counts_;
    boost::mysql::any_connection connection_;
    boost::mysql::diagnostics notes_;
    std::map<std::string, kept_statement> statements_;
    std::uint64_t uses_ = 0;
    bool usable_ = false;
};

}  // namespace mortise::db::detail

#endif
