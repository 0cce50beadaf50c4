// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_MYSQL_WIRE_HPP
#define MORTISE_MYSQL_WIRE_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/detail/fork_guard.hpp"
#include "mysql/mysql_failure.hpp"
#include "mysql/mysql_place.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/mysql/any_connection.hpp>
#include <boost/mysql/results.hpp>
#include <boost/mysql/statement.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mortise::db::detail {

/// One connection to a MariaDB or MySQL server, with the statements that were prepared on it.
///
/// One thing is under way at a time, in a coroutine on the strand, which keeps the wire alive. A
/// cancellation has another connection send `KILL QUERY` meanwhile; the statement is answered when
/// both have ended and the kill cannot hit a later statement.
///
/// @par Threads The strand.
class mysql_wire final : public server_connection, public std::enable_shared_from_this<mysql_wire> {
public:
    mysql_wire(
        asio::any_io_executor strand,
        std::shared_ptr<mysql_place> place,
        std::shared_ptr<coro::time_source> time
    );
    ~mysql_wire() override;

    void open(ended then) override { open_within(place_->config.connect_max, std::move(then)); }
    void open_within(std::chrono::milliseconds limit, ended then);
    /// Runs statements one after the other in one message. Gives the first failure; later
    /// statements have run all the same.
    void execute(std::vector<std::string> statements, ended then);

    bool check() override { return usable_; }  // nobody can look into the socket of Boost.MySQL
    void probe(ended then) override;
    void begin(const transaction_options& options, const prepared_name& name, ended then) override;
    bool begun() const noexcept override { return open_; }
    bool takes_statement() const noexcept override { return !busy_; }
    statement_id run(bound_sql statement, replied then) override;
    void cancel(statement_id statement) override;
    void commit(committed then) override;
    void roll_back(ended then) override;
    void prepare(committed then) override;
    void end_prepared(const prepared_name& name, prepared_end how, replied then) override;
    bool holds_prepared() const noexcept override { return prepared_; }

    bool busy() const noexcept override { return busy_; }
    bool usable() const noexcept override { return usable_; }
    bool reusable() const noexcept override {
        return usable_ && !busy_ && !open_ && !prepared_ && !retired;
    }
    transaction_state state() const noexcept override;
    server_failure last_words() const override { return last_words_; }
    std::uint32_t number() const noexcept override;
    transaction_mark mark() const override { return mark_; }
    void close(const server_failure& why) override;
    void drop() noexcept override;

private:
    using self = std::shared_ptr<mysql_wire>;
    using texts = std::vector<std::string>;
    using failing = asio::awaitable<mysql_failure>;
    struct kept_statement {
        boost::mysql::statement prepared;
        std::uint64_t used = 0;
    };

    void start(failing work, ended then);
    void finished(mysql_failure failed);
    void answer();
    void limit(std::chrono::milliseconds most);
    void killed(bool well);
    void say_goodbye();
    server_failure explain(const mysql_failure& failed) const;

    // The coroutines, each with the wire that it keeps.
    failing connect(self kept, std::chrono::milliseconds most);
    failing send(self kept, texts statements);
    failing ping(self kept);
    failing begin_traced(self kept, texts statements);
    failing perform(self kept, bound_sql statement);
    failing prepare(std::string text, boost::mysql::statement& prepared);
    failing send_all(texts statements);

    texts first_statements(const transaction_options& options);
    void draw_mark();
    void end_by(texts statements, committed then);

    const asio::any_io_executor strand_;
    const std::shared_ptr<mysql_place> place_;
    const std::shared_ptr<coro::time_source> time_;
    const coro::detail::fork_guard process_;
    std::unique_ptr<boost::mysql::any_connection> on_;
    boost::mysql::diagnostics notes_;
    std::map<std::string, kept_statement> statements_;
    std::uint64_t uses_ = 0;
    std::int64_t server_seconds_ = 0;  ///< The server's clock when the wire was opened,
    clock::time_point opened_at_{};    ///< and ours.

    bool usable_ = false;
    bool busy_ = false;
    bool closed_ = false;
    ended then_;                      ///< Whom the thing under way is for.
    asio::cancellation_signal stop_;  ///< Of the thing under way.
    coro::detail::alarm alarm_;       ///< Of an opening, or of a cancellation.
    bool late_ = false;               ///< The opening took too long.
    server_failure outcome_;          ///< The answer, while it is held back.
    server_failure last_words_;

    // Of a statement.
    statement_id statement_ = 0;
    query_result result_;
    bool cancelled_ = false;
    bool killing_ = false;
    bool answered_ = false;
    self killer_;

    // Of a transaction.
    bool open_ = false;
    bool doomed_ = false;
    bool read_only_ = false;
    bool prepared_ = false;  ///< It can do nothing until that transaction ends.
    std::string xid_;        ///< Quoted, of a transaction that can be prepared; else empty.
    transaction_mark mark_;
};

}  // namespace mortise::db::detail

#endif
