// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_MYSQL_CALL_HPP
#define MORTISE_MYSQL_CALL_HPP

#include "mortise/coro/detail/completion.hpp"
#include "mortise/coro/detail/initiate.hpp"
#include "mortise/db/bound_sql.hpp"
#include "mortise/db/query_result.hpp"
#include "mysql/mysql_wire.hpp"

#include <boost/asio/cancellation_signal.hpp>
#include <boost/mysql/field_view.hpp>
#include <boost/mysql/results.hpp>

#include <exception>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::db::detail {

/// Whether a statement begins or ends a transaction at a MariaDB or MySQL server, by its meaning or
/// unasked, as most statements do that define something. A stored procedure can do so unseen.
bool controls_mysql_transaction(std::string_view sql) noexcept;

/// The values as Boost.MySQL wants them; texts and blobs are referred to.
std::vector<boost::mysql::field_view> to_fields(const std::vector<column_value>& values);

/// The first result set of an answer. Dates, times and decimal numbers become text.
/// @throws error `column_type` for an unsigned number above 2^63 - 1
query_result to_query_result(const boost::mysql::results& found);

/// One statement under way, which can be cancelled at the server.
///
/// The statement runs; a cancellation has another connection send `KILL QUERY` meanwhile. When both
/// have ended, and the kill cannot hit a later statement, the handler is called. A statement that
/// does not end in time is abandoned, and its wire is spoilt.
///
/// @par Threads The executor of the handler.
class mysql_call : public std::enable_shared_from_this<mysql_call> {
public:
    using completion = coro::detail::completion<void(std::exception_ptr, query_result)>;

    mysql_call(completion done, std::shared_ptr<mysql_wire> wire, bound_sql statement);

    void start();
    void on_cancel(asio::cancellation_type type);

private:
    asio::awaitable<void> run(std::shared_ptr<mysql_call> self);
    asio::awaitable<mysql_failure> perform();
    asio::awaitable<mysql_failure> prepare(boost::mysql::statement& prepared);
    asio::awaitable<void> end_statement(std::shared_ptr<mysql_call> self);
    asio::awaitable<bool> kill_query();
    asio::awaitable<void> absorb_late_kill(std::shared_ptr<mysql_call> self);
    void ended();
    void complete();

    completion done_;
    const std::shared_ptr<mysql_wire> wire_;
    const asio::any_io_executor executor_;
    const bound_sql statement_;
    std::vector<boost::mysql::field_view> fields_;
    boost::mysql::results found_;
    boost::mysql::diagnostics notes_;
    asio::cancellation_signal abandon_;
    asio::cancellation_signal impatience_;  ///< Ends the wait for a statement that was killed.
    mysql_failure failure_;
    query_result result_;
    bool answered_ = false;
    bool cancelled_ = false;
    bool killing_ = false;
};

/// Starts a statement on a wire. Completion: `void(std::exception_ptr, query_result)`.
template <class Token>
auto start_call(
    const asio::any_io_executor& executor,
    std::shared_ptr<mysql_wire> wire,
    bound_sql statement,
    Token&& token
) {
    return coro::detail::async_start<void(std::exception_ptr, query_result)>(
        executor,
        std::forward<Token>(token),
        [](mysql_call::completion done, std::shared_ptr<mysql_wire> on, bound_sql sql) {
            std::make_shared<mysql_call>(std::move(done), std::move(on), std::move(sql))->start();
        },
        std::move(wire),
        std::move(statement)
    );
}

}  // namespace mortise::db::detail

#endif
