// SPDX-License-Identifier: BSL-1.0
#include "unit/postgres/postgres_kind.hpp"

#include <libpq-fe.h>

#include <map>
#include <memory>
#include <stdexcept>

namespace mortise::test {
namespace {

template <class T>
using owned = std::unique_ptr<T, void (*)(T*)>;

// By the Unix socket, where nobody asks for a password: a login takes longer than all the rest.
owned<PGconn> connect_to(const postgres_server& server, const std::string& database) {
    const std::string place = "host=" + server.socket_folder().string() +
                              " port=" + std::to_string(server.port()) + " user=" + server.user +
                              " dbname=" + database + " options='-c client_min_messages=warning'";
    return {::PQconnectdb(place.c_str()), &::PQfinish};
}

}  // namespace

// A deadlock is looked for after a second, which tests need not wait for.
std::string session_kind::database(server& at) {
    sql(at, "postgres", "ALTER DATABASE postgres SET deadlock_timeout = '20ms'");
    return "postgres";
}

std::string
session_kind::sql(const server& at, const std::string& database, const std::string& statement) {
    static std::map<std::uint16_t, owned<PGconn>> connections;
    auto& connection = connections.try_emplace(at.port(), nullptr, &::PQfinish).first->second;
    owned<PGresult> found(nullptr, &::PQclear);
    for (int attempt = 0; attempt < 2; ++attempt) {
        if (!connection)
            connection = connect_to(at, database);
        found.reset(::PQexec(connection.get(), statement.c_str()));
        const auto status = ::PQresultStatus(found.get());
        if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
            break;
        const char* const state = ::PQresultErrorField(found.get(), PG_DIAG_SQLSTATE);
        const bool lost = !state || std::string(state).starts_with("57P");
        const std::string words = ::PQerrorMessage(connection.get());
        if (lost)
            connection.reset();  // the server was restarted since, or another one has its port
        if (!lost || attempt == 1)
            throw std::runtime_error(statement + ": " + words);
    }
    const bool any = ::PQntuples(found.get()) > 0 && ::PQnfields(found.get()) > 0;
    return any ? ::PQgetvalue(found.get(), 0, 0) : "";
}

std::string session_kind::connections() {
    return "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'mortise'";
}

void session_kind::end_connections(const server& at, const std::string& database) {
    sql(at,
        database,
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
        " WHERE application_name = 'mortise'");
}

std::string session_kind::running(const std::string& text) {
    return "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND wait_event_type IN"
           " ('Lock', 'Timeout') AND query LIKE '%" +
           text + "%' AND pid <> pg_backend_pid()";
}

std::string session_kind::marked(const std::string& statement) {
    std::string text;
    int count = 0;
    for (const char each : statement)
        text += each == '?' ? "$" + std::to_string(++count) : std::string(1, each);
    return text;
}

}  // namespace mortise::test
