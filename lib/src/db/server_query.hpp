// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_SERVER_QUERY_HPP
#define MORTISE_DB_SERVER_QUERY_HPP

#include "db/server_task.hpp"

#include <exception>
#include <memory>

namespace mortise::db::detail {

/// A statement that somebody waits for, and how to tell that.
class server_query : public caller_share {
public:
    using completion = coro::detail::completion<void(std::exception_ptr, query_result)>;

    server_query(completion done, bound_sql statement);

    asio::cancellation_slot release_slot() noexcept { return done_.release_slot(); }
    const asio::any_io_executor& executor() const noexcept { return done_.get_executor(); }
    void let_go() noexcept override { const completion gone = std::move(done_); }
    /// Tells that the statement was answered. Call it as the one who has settled the share.
    void deliver(std::exception_ptr failure, query_result result);

    bound_sql sql;
    server_connection::statement_id id = 0;  ///< Zero while it was not sent.
    bool cancelled = false;

private:
    completion done_;
};

/// What the caller of a statement is told.
std::exception_ptr
judge(const server_reply& reply, const server_query& query, const server_place& place, bool alone);

/// Completes the statement, unless its caller's context has ended.
void complete(
    caller_hold& caller,
    const std::shared_ptr<server_query>& query,
    std::exception_ptr failure,
    query_result result = {}
);

/// One `async_query` of a session: waits for a connection and runs a statement by itself.
class server_statement final : public server_task {
public:
    server_statement(std::shared_ptr<server_session> session, std::shared_ptr<server_query> query);

    void on_cancel(asio::cancellation_type_t type) override;

protected:
    void got_connection() override;
    void fail(const server_failure& why) override;
    void caller_ended() override { on_cancel(asio::cancellation_type::terminal); }

private:
    void answered(server_reply reply);

    const std::shared_ptr<server_query> query_;
};

}  // namespace mortise::db::detail

#endif
