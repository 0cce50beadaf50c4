// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_PG_SESSION_CONNECTION_HPP
#define MORTISE_DB_PG_SESSION_CONNECTION_HPP

#include "db/server_connection.hpp"
#include "postgres/pg_connection.hpp"

#include <memory>
#include <string>
#include <utility>

namespace mortise::db::detail {

server_failure failure_of(const postgres_detail::pg_failure& why);

/// A connection of libpq as one of a session.
///
/// @par Threads The strand.
class pg_session_connection final : public server_connection,
                                    public std::enable_shared_from_this<pg_session_connection> {
public:
    explicit pg_session_connection(std::shared_ptr<postgres_detail::pg_connection> on)
        : on_(std::move(on)) {}

    void open(ended then) override;
    bool check() override { return on_->check(); }
    void probe(ended then) override;

    // BEGIN leaves with the first statement, so a closure without one costs nothing at the server.
    void begin(const transaction_options& options, const prepared_name& name, ended then) override;
    void forget_begin() noexcept override;
    bool begun() const noexcept override { return begun_; }
    // A statement that was sent behind a BEGIN that fails would run outside of a transaction.
    bool takes_statement() const noexcept override { return !beginning_; }

    statement_id run(bound_sql statement, replied then) override;
    void cancel(statement_id statement) override { on_->cancel(statement); }

    void commit(committed then) override;
    void roll_back(ended then) override;
    void prepare(committed then) override;
    void end_prepared(const prepared_name& name, prepared_end how, replied then) override;

    bool busy() const noexcept override { return on_->busy(); }
    bool usable() const noexcept override { return on_->usable(); }
    bool reusable() const noexcept override;
    transaction_state state() const noexcept override;
    server_failure last_words() const override { return failure_of(on_->last_words()); }
    std::uint32_t number() const noexcept override {
        return static_cast<std::uint32_t>(on_->process());
    }

    void close(const server_failure& why) override { on_->close({why.code, why.text}); }
    void drop() noexcept override { on_->drop(); }

private:
    void send_commit(bool wrote, transaction_mark mark, committed then);

    const std::shared_ptr<postgres_detail::pg_connection> on_;
    transaction_options options_;
    std::string begin_;       ///< Empty outside of a transaction.
    std::string name_;        ///< Quoted: under which the transaction can be prepared.
    bool begun_ = false;      ///< BEGIN was sent, and has not failed.
    bool beginning_ = false;  ///< It is under way.
};

}  // namespace mortise::db::detail

#endif
