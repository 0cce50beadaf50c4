// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQL_STATEMENT_GATEWAY_HPP
#define MORTISE_STORE_SQL_STATEMENT_GATEWAY_HPP

#include "store/link/answer_watch.hpp"
#include "store/sql/sql_gateway.hpp"
#include "store/sql/sql_server.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace mortise::store_detail {

/// The gateway to any server that answers to statements: which connection a call uses, how long an
/// answer may take, and what the answers mean. `sql_server` has the statements.
///
/// A call of a session uses its connection. A call of nobody uses it, too, while it is open, and
/// otherwise one that is closed afterwards. A row lock is a transaction on a connection of its own,
/// so that nothing else waits for its end.
///
/// @par Threads   The strand; `explain`: any.
/// @par Lifetimes Owned by a `shared_ptr`, which its coroutines keep.
class statement_gateway final : public sql_gateway,
                                public std::enable_shared_from_this<statement_gateway> {
public:
    explicit statement_gateway(std::unique_ptr<sql_server> server);

    store_traits traits() const noexcept override { return server_->traits(); }
    void start(
        asio::any_io_executor strand,
        std::shared_ptr<coro::time_source> time,
        push_function pushed,
        std::function<void()> closed
    ) override;
    asio::awaitable<error_code> connect() override;
    void close() noexcept override;
    asio::awaitable<result<sql_proof>> prove(session_start start) override;
    asio::awaitable<result<sql_beat>> beat(sql_actor actor) override;
    asio::awaitable<result<bool>> mark_dead(core::session_key key) override;
    asio::awaitable<error_code> end(sql_actor actor) override;
    asio::awaitable<error_code> forget(core::session_key key) override;
    asio::awaitable<result<sql_taken>>
    take(sql_actor actor, std::string name, request_id id, bool join, sql_stamp stamp) override;
    asio::awaitable<result<bool>> release(
        sql_actor actor, std::string name, request_id id, std::uint64_t base, sql_stamp stamp
    ) override;
    asio::awaitable<result<bool>> pass_on(
        sql_actor actor, std::string name, request_id id, std::uint64_t base, sql_stamp stamp
    ) override;
    asio::awaitable<result<sql_left>> withdraw(
        sql_actor actor, std::string name, request_id id, std::uint64_t ordinal, sql_stamp stamp
    ) override;
    asio::awaitable<result<sql_lock>>
    load(sql_actor actor, std::string name, row_lock mode) override;
    asio::awaitable<result<bool>> store(sql_lock_change change) override;
    asio::awaitable<result<sql_entries>> entries(core::session_key key, std::size_t limit) override;
    asio::awaitable<result<std::vector<sql_lock>>>
    list(std::string after, std::size_t limit) override;
    asio::awaitable<result<std::vector<break_record>>>
    breaks(std::string name, std::size_t limit) override;
    asio::awaitable<error_code> watch(sql_actor actor) override;
    asio::awaitable<result<std::vector<store_finding>>> examine() override;
    std::string explain() const override;

private:
    /// A connection and the watch over its answers.
    class line {
    public:
        line() = default;

        std::shared_ptr<sql_wire> wire;
        answer_watch answers;
        bool open = false;
        bool passing = false;  ///< Closed after its call.
    };
    using line_ptr = std::shared_ptr<line>;

    template <class R>
    using reader = std::function<result<R>(const sql_results&)>;

    line_ptr make_line(sql_use use);
    asio::awaitable<error_code> open(line_ptr on);
    asio::awaitable<line_ptr> any_line(error_code& failed);
    void hang_up(const line_ptr& on) noexcept;
    void ended(const std::weak_ptr<line>& on);
    void remember(std::string text);

    asio::awaitable<result<sql_results>> send(line_ptr on, sql_message message);
    template <class R>
    asio::awaitable<result<R>> ask(line_ptr on, sql_message message, reader<R> read);
    template <class R>
    asio::awaitable<result<R>> ask_passing(sql_message message, reader<R> read);
    template <class R>
    asio::awaitable<result<R>> ask_briefly(sql_message message, reader<R> read, R missed);
    asio::awaitable<error_code> tell(sql_message message, bool needs_row);
    asio::awaitable<result<sql_lock>> load_locked(sql_actor actor, std::string name);
    void give_up_row(const std::string& name, const line_ptr& on) noexcept;

    const std::unique_ptr<sql_server> server_;
    asio::any_io_executor strand_;
    std::shared_ptr<coro::time_source> time_;
    push_function pushed_;
    std::function<void()> closed_;
    line_ptr session_;  ///< Null if there is none.
    /// The transactions under way that keep rows of locks, by their names.
    std::map<std::string, line_ptr> row_locks_;
    /// Locks that were held when they were asked for, some of them: likely to be held again.
    std::set<std::string> crowded_;
    /// Locks whose holder had to be told at the last request, some of them.
    std::set<std::string> first_;

    mutable std::mutex failure_mutex_;
    std::string failure_;
};

}  // namespace mortise::store_detail

#endif
