// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_POSTGRES_POSTGRES_SCENE_HPP
#define MORTISE_TESTS_UNIT_POSTGRES_POSTGRES_SCENE_HPP

#include "mortise/db/postgres.hpp"
#include "support/postgres_server.hpp"
#include "unit/sql/sql_scene.hpp"

#include <boost/asio/io_context.hpp>

#include <libpq-fe.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace mortise::test {

/// The one database for these tests at the PostgreSQL server of this program, emptied for each of
/// them (see `SqlScene`).
class postgres_scene {
public:
    using session_type = db::postgres;
    static constexpr const char* quote = "\"";

    postgres_scene() { sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public"); }

    db::postgres open() {
        auto config = db::parse_postgres_url(server_.url(database_));
        config.servers[0].host = server_.socket_folder();
        return db::postgres(context.get_executor(), std::move(config));
    }
    std::string sql(const std::string& statement) const {
        const std::unique_ptr<PGresult, void (*)(PGresult*)> found(
            ::PQexec(admin_.get(), statement.c_str()), &::PQclear
        );
        const auto status = ::PQresultStatus(found.get());
        if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
            throw std::runtime_error(statement + ": " + ::PQerrorMessage(admin_.get()));
        const bool any = ::PQntuples(found.get()) > 0 && ::PQnfields(found.get()) > 0;
        return any ? ::PQgetvalue(found.get(), 0, 0) : "";
    }
    int waiting() const {
        return std::stoi(sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                             " AND datname = current_database()"));
    }

    asio::awaitable<std::string> lock_time_out(db::postgres_connection& on) const {
        const auto found = co_await ask(on, "SHOW lock_timeout");
        co_return found.first().text("lock_timeout");
    }

    asio::io_context context;

private:
    postgres_server& server_ = shared_postgres();
    static const std::string& database() {
        static const std::string name = shared_postgres().create_database("helpers");
        return name;
    }

    const std::string database_ = database();
    // By the Unix socket, where a login costs nothing; so do the sessions.
    const std::unique_ptr<PGconn, void (*)(PGconn*)> admin_{
        ::PQconnectdb(("host=" + server_.socket_folder().string() +
                       " port=" + std::to_string(server_.port()) + " user=" + server_.user +
                       " dbname=" + database_ + " options='-c client_min_messages=warning'")
                          .c_str()),
        &::PQfinish};
};

}  // namespace mortise::test

#endif
