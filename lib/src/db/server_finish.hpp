// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_SERVER_FINISH_HPP
#define MORTISE_DB_SERVER_FINISH_HPP

#include "db/server_task.hpp"
#include "mortise/coro/detail/alarm.hpp"
#include "mortise/db/prepared_transaction.hpp"

#include <chrono>
#include <exception>
#include <memory>

namespace mortise::db::detail {

/// Who waits for the end of a prepared transaction.
class finish_wait final : public caller_share {
public:
    using completion = coro::detail::completion<void(std::exception_ptr, bool)>;

    explicit finish_wait(completion done) : done_(std::move(done)) {}

    asio::cancellation_slot release_slot() noexcept { return done_.release_slot(); }
    const asio::any_io_executor& executor() const noexcept { return done_.get_executor(); }
    void let_go() noexcept override { const completion gone = std::move(done_); }
    void deliver(std::exception_ptr failure, bool found) {
        done_.complete(std::move(failure), found);
    }

private:
    completion done_;
};

/// One `async_finish`: ends a prepared transaction, on the connection that holds it or on any.
///
/// @par Threads The strand.
class server_finish final : public server_task {
public:
    server_finish(
        std::shared_ptr<server_session> session,
        std::shared_ptr<finish_wait> wait,
        prepared_name name,
        prepared_end how
    );

    void begin() override;
    void on_cancel(asio::cancellation_type_t type) override;
    void drop() noexcept override;

protected:
    void got_connection() override;
    void fail(const server_failure& why) override;
    void caller_ended() override { on_cancel(asio::cancellation_type::terminal); }

private:
    void limit(std::chrono::milliseconds most);
    void answered(const server_reply& reply);
    void deliver(const server_failure& why, bool found);

    const std::weak_ptr<finish_wait> wait_;  ///< The caller's hold owns it.
    const prepared_name name_;
    const prepared_end how_;
    coro::detail::alarm alarm_;
    bool cancelled_ = false;
};

}  // namespace mortise::db::detail

#endif
