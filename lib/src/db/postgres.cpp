// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/postgres.hpp"

#include "db/outcome_body.hpp"
#include "db/server_session.hpp"
#include "db/sql_words.hpp"
#include "mortise/coro/worker.hpp"
#include "mortise/detail/require.hpp"
#include "postgres/pg_connection.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_executor.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::db::detail {
namespace {

using postgres_detail::pg_connection;
using postgres_detail::pg_failure;
using postgres_detail::pg_reply;
using postgres_detail::pg_step;

void require_settings(const postgres_config& config) {
    using mortise::detail::require;
    const auto has_zero = [](const std::string& text) {
        return text.find('\0') != std::string::npos;
    };
    require(!config.servers.empty(), "servers", "name at least one server");
    for (const auto& each : config.servers) {
        const bool named = !each.host.empty() && each.port != 0 && !has_zero(each.host) &&
                           each.host.find(',') == std::string::npos;
        require(named, "servers", "give each a host and a port");
    }
    for (const auto* const each :
         {&config.database, &config.user, &config.password, &config.application_name})
        require(!has_zero(*each), "database, user, password", "use no zero byte");
    require(
        config.unacknowledged_max >= std::chrono::seconds(1) &&
            config.unacknowledged_max <= std::chrono::hours(24),
        "unacknowledged_max",
        "use one second to one day"
    );
    require_limits(config);
}

db::postgres_config checked(postgres_config config) {
    require_settings(config);
    return config;
}

server_failure failure_of(const pg_failure& why) {
    return {why.code, why.text, postgres_detail::remedy_of(why.code)};
}

std::string begin_statement(const transaction_options& options) {
    std::string text = "BEGIN";
    if (options.level == isolation::read_committed)
        text += " ISOLATION LEVEL READ COMMITTED";
    else if (options.level == isolation::repeatable_read)
        text += " ISOLATION LEVEL REPEATABLE READ";
    else if (options.level == isolation::serializable)
        text += " ISOLATION LEVEL SERIALIZABLE";
    return text + (options.read_only ? " READ ONLY" : "");
}

// A number is drawn only for a transaction that has written. The history is the timeline of the
// write-ahead log, which is another one after each promotion.
constexpr const char* trace_statement =
    "SELECT pg_current_xact_id_if_assigned()::text, CASE WHEN pg_is_in_recovery() THEN '' ELSE"
    " substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) END";

/// A connection of libpq as one of a session.
class pg_session_connection final : public server_connection,
                                    public std::enable_shared_from_this<pg_session_connection> {
public:
    explicit pg_session_connection(std::shared_ptr<pg_connection> on) : on_(std::move(on)) {}

    void open(ended then) override {
        on_->open([then = std::move(then)](const pg_failure& why) { then(failure_of(why)); });
    }
    bool check() override { return on_->check(); }
    void probe(ended then) override {
        on_->exchange({}, [then = std::move(then)](const pg_reply& reply) {
            then(failure_of(reply.failure));
        });
    }

    // BEGIN leaves with the first statement, so a closure without one costs nothing at the server.
    void begin(const transaction_options& options, ended then) override {
        options_ = options;
        begin_ = begin_statement(options);
        begun_ = false;
        then({});
    }
    void forget_begin() noexcept override {
        begin_.clear();
        begun_ = false;
    }
    bool begun() const noexcept override { return begun_; }
    // A statement that was sent behind a BEGIN that fails would run outside of a transaction.
    bool takes_statement() const noexcept override { return !beginning_; }

    statement_id run(bound_sql statement, replied then) override {
        std::vector<pg_step> steps;
        if (!begin_.empty() && !begun_) {
            begun_ = beginning_ = true;
            steps.emplace_back(bound_sql(begin_), false);
        }
        steps.emplace_back(std::move(statement));
        auto answered = [self = shared_from_this(), then = std::move(then)](pg_reply reply) {
            self->beginning_ = false;
            if (reply.answers.size() > 1 && reply.answers.front().failure)
                self->begun_ = false;
            server_reply answer;
            answer.failure = failure_of(reply.first_failure());
            answer.lost = reply.failure && reply.sent;
            if (!answer.failure)
                answer.result = std::move(reply.answers.back().result);
            then(std::move(answer));
        };
        return on_->exchange(std::move(steps), std::move(answered));
    }
    void cancel(statement_id statement) override { on_->cancel(statement); }

    void commit(committed then) override {
        if (!options_.traced || options_.read_only)
            return send_commit(!options_.read_only, {}, std::move(then));
        on_->exchange(
            {pg_step(bound_sql(trace_statement))},
            [self = shared_from_this(), then = std::move(then)](const pg_reply& reply) {
                if (const auto& why = reply.first_failure())
                    return then({failure_of(why), false, {}});
                const row& found = reply.answers.front().result.first();
                const bool wrote = !found.is_null(0);
                transaction_mark mark;
                if (wrote)
                    mark = transaction_mark(found.text(0), found.text(1));
                self->send_commit(wrote, std::move(mark), then);
            }
        );
    }
    void roll_back(ended then) override {
        on_->exchange(
            {pg_step(bound_sql("ROLLBACK"))},
            [self = shared_from_this(), then = std::move(then)](const pg_reply& reply) {
                self->forget_begin();
                then(failure_of(reply.first_failure()));
            }
        );
    }

    bool busy() const noexcept override { return on_->busy(); }
    bool usable() const noexcept override { return on_->usable(); }
    bool reusable() const noexcept override {
        return usable() && !retired && !on_->was_cancelled() && !busy() &&
               state() == transaction_state::none;
    }
    transaction_state state() const noexcept override {
        switch (on_->transaction_state()) {
        case pg_connection::transaction::open:
            return transaction_state::open;
        case pg_connection::transaction::failed:
            return transaction_state::failed;
        case pg_connection::transaction::none:
            break;
        }
        return transaction_state::none;
    }
    server_failure last_words() const override { return failure_of(on_->last_words()); }

    void close(const server_failure& why) override { on_->close({why.code, why.text}); }
    void drop() noexcept override { on_->drop(); }

private:
    // A COMMIT of a transaction in which a statement failed is answered by ROLLBACK, and no error.
    void send_commit(bool wrote, transaction_mark mark, committed then) {
        on_->exchange(
            {pg_step(bound_sql("COMMIT"))},
            [self = shared_from_this(), wrote, mark = std::move(mark), then = std::move(then)](
                const pg_reply& reply
            ) {
                self->forget_begin();
                server_ending ending;
                ending.failure = failure_of(reply.first_failure());
                ending.unknown = reply.failure && reply.sent && wrote;
                ending.mark = mark;
                if (!ending.failure && reply.answers.front().tag != "COMMIT")
                    ending.failure = {
                        errc::rolled_back, "the server answered the COMMIT by a ROLLBACK"};
                then(std::move(ending));
            }
        );
    }
    const std::shared_ptr<pg_connection> on_;
    transaction_options options_;
    std::string begin_;       ///< Empty outside of a transaction.
    bool begun_ = false;      ///< BEGIN was sent, and has not failed.
    bool beginning_ = false;  ///< It is under way.
};

error_code code_of(const std::exception_ptr& why) {
    try {
        std::rethrow_exception(why);
    } catch (const boost::system::system_error& failure) {
        return failure.code();
    } catch (...) {
        return {};
    }
}

/// Looks an outcome up. A class, because g++ 12 destroys closures that own something twice.
class outcome_look {
public:
    explicit outcome_look(transaction_mark of) : mark_(std::move(of)) {}
    asio::awaitable<transaction_outcome> operator()(postgres_connection& on) const;

private:
    transaction_mark mark_;
};

asio::awaitable<transaction_outcome> outcome_look::operator()(postgres_connection& on) const {
    if (mark_.empty())
        co_return transaction_outcome::unknown;
    bound_sql look(
        "SELECT CASE WHEN NOT pg_is_in_recovery() AND"
        " substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) = $2::text"
        " THEN pg_xact_status($1::text::xid8) END",
        mark_.number,
        mark_.history
    );
    auto looking = on.async_query(std::move(look), asio::as_tuple(asio::deferred));
    auto looked = co_await std::move(looking);
    auto& [why, found] = looked;
    if (why && sqlstate_of(code_of(why)) == "22023")  // this server has not drawn the number yet
        co_return transaction_outcome::unknown;
    if (why)
        std::rethrow_exception(why);
    const row& status = found.first();
    if (status.is_null(0))
        co_return transaction_outcome::unknown;
    const std::string& text = status.text(0);
    if (text == "committed")
        co_return transaction_outcome::committed;
    if (text == "aborted")
        co_return transaction_outcome::rolled_back;
    co_return transaction_outcome::in_progress;
}

/// The servers of a session with PostgreSQL.
///
/// @par Threads The strand.
class postgres_place final : public server_place,
                             public std::enable_shared_from_this<postgres_place> {
public:
    /// @throws error `bad_config`
    postgres_place(asio::any_io_executor executor, postgres_config config);

    const server_limits& limits() const noexcept override { return *settings_; }
    std::shared_ptr<server_connection> connection(
        const asio::any_io_executor& strand, std::shared_ptr<coro::time_source> time
    ) override;
    server_failure refusal_of(const bound_sql& statement) const override;
    bool controls_transaction(std::string_view sql, bool in_transaction) const override;
    bool is_conflict(const error_code& code) const noexcept override;
    bool is_interruption(const error_code& code) const noexcept override;
    void look_up(
        coro::detail::completion<void(std::exception_ptr, transaction_outcome)> done,
        const std::shared_ptr<server_session>& session,
        transaction_mark mark
    ) override {
        start_look<postgres_connection>(
            std::move(done), session, true, outcome_look(std::move(mark))
        );
    }

private:
    void run_beside(
        const asio::any_io_executor& strand, std::function<void()> job, std::function<void()> then
    );

    const asio::any_io_executor executor_;
    const std::shared_ptr<const postgres_config> settings_;
    /// For requests of cancellation, which libpq sends in a way that blocks. Made for the first.
    std::optional<coro::worker> helper_;
};

postgres_place::postgres_place(asio::any_io_executor executor, postgres_config config)
    : executor_(std::move(executor)),
      settings_(std::make_shared<const postgres_config>(checked(std::move(config)))) {}

std::shared_ptr<server_connection> postgres_place::connection(
    const asio::any_io_executor& strand, std::shared_ptr<coro::time_source> time
) {
    auto beside = [weak = weak_from_this(),
                   strand](std::function<void()> job, std::function<void()> then) {
        if (const auto self = weak.lock())
            self->run_beside(strand, std::move(job), std::move(then));
    };
    return std::make_shared<pg_session_connection>(
        std::make_shared<pg_connection>(strand, settings_, std::move(time), std::move(beside))
    );
}

// Each request waits for the server to close its connection, which a stopped server never does: the
// thread is then left behind, and takes no more.
void postgres_place::run_beside(
    const asio::any_io_executor& strand, std::function<void()> job, std::function<void()> then
) {
    if (!helper_) {
        coro::worker_config settings;
        settings.name = "mortise-cancel";
        settings.grace = std::chrono::milliseconds(0);
        helper_.emplace(executor_, std::move(settings));
    }
    helper_->async_run(
        std::move(job),
        asio::bind_executor(strand, [then = std::move(then)](error_code) { then(); })
    );
}

server_failure postgres_place::refusal_of(const bound_sql& statement) const {
    return failure_of(postgres_detail::refusal_of(statement));
}

// Savepoints do neither, nor does ROLLBACK TO one. Whether a transaction may write is part of its
// options, since a lost commit is judged by that. The other ways to change it, such as set_config,
// are queries, and the server makes no transaction writable after its first query.
bool postgres_place::controls_transaction(std::string_view sql, bool) const {
    sql_words words(sql, sql_words::comments::nested);
    const auto first = words.next();
    if (first == "ROLLBACK") {
        auto next = words.next();
        if (next == "WORK" || next == "TRANSACTION")
            next = words.next();
        return next != "TO";
    }
    if (first == "PREPARE")
        return words.next() == "TRANSACTION";
    if (first == "SET" || first == "RESET") {
        auto next = words.next();
        if (next == "LOCAL" || next == "SESSION")
            next = words.next();
        return next == "TRANSACTION" || next == "TRANSACTION_READ_ONLY";
    }
    constexpr std::array controlling = {"BEGIN", "START", "COMMIT", "END", "ABORT"};
    return std::find(controlling.begin(), controlling.end(), first) != controlling.end();
}

bool postgres_place::is_conflict(const error_code& code) const noexcept {
    return code == postgres_error("40001") || code == postgres_error("40P01");
}

bool postgres_place::is_interruption(const error_code& code) const noexcept {
    return code == postgres_error("57014");
}

}  // namespace
}  // namespace mortise::db::detail

namespace mortise::db {
postgres::postgres(executor_type executor, postgres_config config)
    : server_database(std::make_shared<detail::server_session>(
          executor, std::make_shared<detail::postgres_place>(executor, std::move(config))
      )) {}

}  // namespace mortise::db
