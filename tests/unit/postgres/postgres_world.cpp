// SPDX-License-Identifier: BSL-1.0
#include "unit/postgres/postgres_world.hpp"

#include "mortise/coro/clock.hpp"
#include "mortise/coro/error.hpp"
#include "support/eventually.hpp"

#include <boost/asio/co_spawn.hpp>

#include <libpq-fe.h>

#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>

namespace mortise::test {
namespace {

template <class T>
using owned = std::unique_ptr<T, void (*)(T*)>;

// By the Unix socket, where nobody asks for a password: a login takes longer than all the rest.
owned<PGconn> connect_to(const postgres_server& server) {
    const std::string place = "host=" + server.socket_folder().string() +
                              " port=" + std::to_string(server.port()) + " user=" + server.user +
                              " dbname=postgres options='-c client_min_messages=warning'";
    return {::PQconnectdb(place.c_str()), &::PQfinish};
}

}  // namespace

postgres_world::postgres_world(postgres_server& at) : server_(at) {
    sql("DROP TABLE IF EXISTS account; CREATE TABLE account(id int PRIMARY KEY,"
        " cents bigint NOT NULL CHECK(cents >= 0)); INSERT INTO account VALUES(1, 100), (2, 100),"
        " (3, 100)");
}

std::string postgres_world::sql(const std::string& statement) const {
    static std::map<std::uint16_t, owned<PGconn>> connections;
    auto& connection = connections.try_emplace(server_.port(), nullptr, &::PQfinish).first->second;
    owned<PGresult> found(nullptr, &::PQclear);
    for (int attempt = 0; attempt < 2; ++attempt) {
        if (!connection)
            connection = connect_to(server_);
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

int postgres_world::connections() const {
    return std::stoi(sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'mortise'")
    );
}

bool postgres_world::await_running(const std::string& text) const {
    return eventually([&] {
        return sql("SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND"
                   " wait_event_type IN ('Lock', 'Timeout') AND query LIKE '%" +
                   text + "%' AND pid <> pg_backend_pid()") != "0";
    });
}

void postgres_world::await(asio::awaitable<void> task) {
    bool ended = false;
    std::exception_ptr failure;
    asio::co_spawn(context, std::move(task), [&](std::exception_ptr why) {
        ended = true;
        failure = std::move(why);
    });
    context.restart();
    const auto end = clock::now() + std::chrono::seconds(60);
    while (!ended && clock::now() < end)
        context.run_one_for(std::chrono::milliseconds(100));
    if (!ended)
        throw std::logic_error("the coroutine does not end");
    if (failure)
        std::rethrow_exception(failure);
}

void postgres_world::step_while(const std::function<bool()>& wanted) {
    context.restart();
    while (wanted())
        context.run_one_for(std::chrono::milliseconds(10));
}

void postgres_world::settle() {
    context.restart();
    context.run_for(std::chrono::seconds(60));
}

error_code code_of(const std::exception_ptr& failure) {
    if (!failure)
        return {};
    try {
        std::rethrow_exception(failure);
    } catch (const boost::system::system_error& e) {
        return e.code();
    } catch (...) {
        return coro::errc::work_threw;
    }
}

std::string text_of(const std::exception_ptr& failure) {
    if (!failure)
        return {};
    try {
        std::rethrow_exception(failure);
    } catch (const std::exception& e) {
        return e.what();
    }
}

}  // namespace mortise::test
