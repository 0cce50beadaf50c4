// SPDX-License-Identifier: BSL-1.0
#include "common/xa_database.hpp"

#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "mortise/open_store.hpp"
#ifdef MORTISE_TOOL_MYSQL
#include "mortise/txn/xa_mysql.hpp"
#endif
#ifdef MORTISE_TOOL_POSTGRES
#include "mortise/txn/xa_postgres.hpp"
#endif

#include <utility>

namespace mortise::tool {
namespace {

#if defined(MORTISE_TOOL_MYSQL) || defined(MORTISE_TOOL_POSTGRES)
template <class Connection>
asio::awaitable<void> run_all(Connection& on, std::vector<std::string> statements) {
    for (auto& each : statements) {
        auto running = on.async_query(db::bound_sql(std::move(each)));
        co_await std::move(running);
    }
}

// Not a lambda: it owns something, and is passed to an awaited call.
template <class Connection>
class prepared_work {
public:
    explicit prepared_work(std::vector<std::string> statements)
        : statements_(std::move(statements)) {}

    asio::awaitable<bool> operator()(Connection& on) const {
        auto running = run_all(on, statements_);
        co_await std::move(running);
        co_return true;
    }

private:
    std::vector<std::string> statements_;
};

template <class Session, class Connection>
class database_of final : public xa_database {
public:
    using maker = std::shared_ptr<txn::xa_participant> (*)(
        std::shared_ptr<Session>, std::size_t calls_at_once
    );

    template <class Config>
    database_of(const asio::any_io_executor& on, Config config, std::size_t connections, maker make)
        : calls_at_once_(connections), make_(make) {
        config.connections_max = connections;
        session_ = std::make_shared<Session>(on, std::move(config));
    }

    std::shared_ptr<txn::xa_participant> participant() override {
        return make_(session_, calls_at_once_);
    }
    txn::branch_closure<void> branch(std::vector<std::string> statements) override {
        return txn::on_connection<Connection>(
            [statements = std::move(statements)](Connection& on) -> asio::awaitable<void> {
                return run_all(on, statements);
            }
        );
    }
    asio::awaitable<void> run(std::string statement) override {
        auto running = session_->async_query(db::bound_sql(std::move(statement)));
        co_await std::move(running);
    }
    asio::awaitable<void>
    prepare(db::prepared_name name, std::vector<std::string> statements) override {
        prepared_work<Connection> todo(std::move(statements));
        auto preparing = session_->async_prepare(std::move(name), std::move(todo));
        co_await std::move(preparing);
    }
    asio::awaitable<void> commit(db::prepared_name name) override {
        auto ending = session_->async_finish(std::move(name), db::prepared_end::commit);
        co_await std::move(ending);
    }
    asio::awaitable<void> stop() override {
        auto stopping = session_->async_stop();
        co_await std::move(stopping);
    }

private:
    const std::size_t calls_at_once_;
    const maker make_;
    std::shared_ptr<Session> session_;
};
#endif

}  // namespace

std::unique_ptr<xa_database> xa_database::open(
    [[maybe_unused]] const asio::any_io_executor& on,
    const std::string& url,
    [[maybe_unused]] std::size_t connections
) {
#ifdef MORTISE_TOOL_POSTGRES
    if (url.starts_with("postgresql://") || url.starts_with("postgres://")) {
        return std::make_unique<database_of<db::postgres, db::postgres_connection>>(
            on,
            db::parse_postgres_url(url),
            connections,
            [](std::shared_ptr<db::postgres> at, std::size_t calls) {
                return txn::xa_postgres(std::move(at), calls);
            }
        );
    }
#endif
#ifdef MORTISE_TOOL_MYSQL
    if (url.starts_with("mysql://") || url.starts_with("mariadb://")) {
        return std::make_unique<database_of<db::mysql, db::mysql_connection>>(
            on,
            db::parse_mysql_url(url),
            connections,
            [](std::shared_ptr<db::mysql> at, std::size_t calls) {
                return txn::xa_mysql(std::move(at), calls);
            }
        );
    }
#endif
    throw failure(
        exit_code::usage,
        "transactions cannot be prepared there",
        without_passwords(url),
        "name a database by postgresql://, mariadb:// or mysql://"
    );
}

}  // namespace mortise::tool
