// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_SERVER_TASK_HPP
#define MORTISE_DB_SERVER_TASK_HPP

#include "db/caller_hold.hpp"
#include "db/server_session.hpp"

#include <memory>

namespace mortise::db::detail {

/// Work that a session does for a caller on one of its connections.
///
/// @par Threads   The strand, except where a comment says any.
/// @par Lifetimes Kept alive by what it waits for.
class server_task : public std::enable_shared_from_this<server_task> {
public:
    server_task(std::shared_ptr<server_session> session, asio::any_io_executor caller);
    server_task(const server_task&) = delete;
    server_task& operator=(const server_task&) = delete;
    virtual ~server_task() = default;

    // Any thread.
    server_session& session() const noexcept { return *session_; }
    caller_hold& caller() const noexcept { return *caller_; }
    /// Begins the task with this share of the caller's, and listens to signals.
    void submit(std::shared_ptr<caller_share> share, asio::cancellation_slot slot);

    /// Waits for a connection and goes on with it.
    virtual void begin();
    /// Ends it unbegun: the session is stopped, or somebody does not want it any longer.
    void refuse() { fail(aborted()); }
    asio::any_io_executor strand() const { return session_->strand_if_any(); }
    /// Hears a signal of the caller, on the strand.
    virtual void on_cancel(asio::cancellation_type_t type) = 0;
    /// Lets go of everything: the context has ended.
    virtual void drop() noexcept;

protected:
    /// Goes on with `connection_`.
    virtual void got_connection() = 0;
    /// Ends without a connection, with a failure for the caller.
    virtual void fail(const server_failure& why) = 0;
    /// The context of the caller has ended, and the caller's shares are gone.
    virtual void caller_ended() = 0;

    void wait_for_connection(server_pool::rank where);
    /// Ends the wait. False if it has ended by itself.
    bool withdraw() { return session_->pool().withdraw(ticket_); }
    void give_back_connection();
    /// Ends the task, after the caller was answered: a stop is answered after all it waited for.
    void end();

    const std::shared_ptr<server_session> session_;
    const std::shared_ptr<caller_hold> caller_;
    server_pool::connection connection_;

private:
    server_pool::ticket ticket_ = 0;
};

}  // namespace mortise::db::detail

#endif
