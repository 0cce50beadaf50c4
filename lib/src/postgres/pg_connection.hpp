// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_POSTGRES_PG_CONNECTION_HPP
#define MORTISE_POSTGRES_PG_CONNECTION_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/db/postgres_config.hpp"
#include "postgres/pg_message.hpp"
#include "postgres/pg_opening.hpp"
#include "postgres/pg_sender.hpp"
#include "postgres/pg_socket.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mortise::postgres_detail {

/// A push of the server: NOTIFY.
struct pg_notification {
    std::string channel;
    std::string payload;
    int process = 0;  ///< The number of the server's process that sent it.
};

/// One connection to a PostgreSQL server, with messages that are sent one behind the other without
/// waiting for answers.
///
/// A message is statements, each with its values, and the Syncs between them; it leaves in one
/// write. Answers come in the order of the messages. Handlers are called on the strand, never from
/// inside the call that they belong to, except by `close`, which answers all that is under way.
///
/// While nothing is under way and no notifications are wanted, the connection waits for nothing and
/// keeps no context at work. Its end is then noticed by `check` and by the next message.
///
/// @par Threads   The strand.
/// @par Lifetimes Kept alive by what it waits for.
class pg_connection final : public std::enable_shared_from_this<pg_connection> {
public:
    using replied = std::function<void(pg_reply)>;
    using notified = std::function<void(pg_notification)>;
    /// Runs a job that blocks, on another thread, once, and calls `then` on the strand afterwards.
    using beside = std::function<void(std::function<void()> job, std::function<void()> then)>;
    using message_id = std::uint64_t;

    pg_connection(
        asio::any_io_executor strand,
        std::shared_ptr<const db::postgres_config> settings,
        std::shared_ptr<coro::time_source> time,
        beside run_beside
    );

    /// Connects and logs in. Call it once, first.
    void open(pg_opening::done_function done);

    /// Sends a message. One without steps is only a Sync, a question for a sign of life.
    message_id exchange(std::vector<pg_step> steps, replied then);

    /// Asks the server to end this message, if it is under way. The answer comes all the same, with
    /// SQLSTATE 57014 if the server was in time, and not before the request has arrived there, so
    /// that it hits nothing that is sent later. If none comes for `cancel_max`, the connection is
    /// closed.
    void cancel(message_id message);
    bool was_cancelled() const noexcept { return was_cancelled_; }

    /// Calls `handler` for each notification, or for none if it is empty. Waits for them, and calls
    /// `ended` once if the connection ends by itself.
    void listen(notified handler, std::function<void()> ended = nullptr);
    /// The number of the server's process, as a pooler between here and there may have made it up.
    int process() const noexcept { return ::PQbackendPID(socket_.get()); }

    /// Looks, without waiting, whether the connection has ended.
    bool check();
    /// Whether it is open, as far as is known.
    bool usable() const noexcept { return stage_ == stage::open; }

    /// Why it was closed.
    const pg_failure& last_words() const noexcept { return last_words_; }

    enum class transaction : std::uint8_t { none, open, failed };
    /// The state after the last answered message. The server sends it with each Sync.
    transaction transaction_state() const noexcept;
    bool busy() const noexcept { return !messages_.empty(); }

    /// Closes the connection and answers the messages that are under way with this failure.
    void close(pg_failure why);
    /// Closes it without a call.
    void drop() noexcept;

private:
    enum class stage : std::uint8_t { opening, open, closed };

    struct message {
        message_id id = 0;
        std::vector<pg_step> steps;
        replied then;
        pg_reply reply;
        std::size_t answered = 0;  ///< Syncs that were answered.
        std::size_t syncs = 1;
        bool cancel_wanted = false;
        bool cancel_sent = false;
    };

    void pump();
    void wait_readable();
    void wait_writable();
    void collect();
    void take(const PGresult& result);
    void take_answer(const PGresult& result);
    void take_failure(pg_failure why);
    void take_failed_sync(const pg_failure& why);
    void take_sync();
    void take_notifications();
    void deliver_first();
    void request_cancel();
    void send_cancel();
    void cancel_arrived();
    void lost();
    void fail_later(replied then, pg_failure why);
    std::string words_of_libpq() const;
    static void on_notice(void* self, const PGresult* notice);

    const asio::any_io_executor strand_;
    const std::shared_ptr<const db::postgres_config> settings_;
    const std::shared_ptr<coro::time_source> time_;
    const beside run_beside_;
    pg_socket socket_;
    std::shared_ptr<pg_opening> opening_;
    stage stage_ = stage::opening;
    bool reading_ = false;
    bool writing_ = false;
    bool was_cancelled_ = false;
    bool cancelling_ = false;   ///< A request of cancellation is under way.
    bool sync_failed_ = false;  ///< The answer to the next Sync still comes.
    bool answer_held_ = false;  ///< The first message is answered, but the request is under way.
    message_id last_id_ = 0;
    std::deque<message> messages_;
    pg_sender sender_;
    pg_failure aborted_by_;  ///< Why the server skips the rest, up to the next Sync.
    pg_failure last_words_;  ///< Why it was closed; the server's, if it said why.
    notified notified_;
    std::function<void()> ended_;
    coro::detail::alarm cancel_alarm_;
    coro::detail::alarm repeat_alarm_;
};

}  // namespace mortise::postgres_detail

#endif
