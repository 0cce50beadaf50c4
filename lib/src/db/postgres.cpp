// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/postgres.hpp"

#include "db/outcome_body.hpp"
#include "db/pg_session_connection.hpp"
#include "db/server_session.hpp"
#include "db/server_transaction.hpp"
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
    bool is_missing(const error_code& code) const noexcept override;
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

bool postgres_place::is_missing(const error_code& code) const noexcept {
    return code == postgres_error("42704");  // undefined_object
}

}  // namespace
}  // namespace mortise::db::detail

namespace mortise::db {
std::uint32_t postgres_connection::server_id() const noexcept {
    return transaction().connection_number();
}

postgres::postgres(executor_type executor, postgres_config config)
    : server_database(std::make_shared<detail::server_session>(
          executor, std::make_shared<detail::postgres_place>(executor, std::move(config))
      )) {}

}  // namespace mortise::db
