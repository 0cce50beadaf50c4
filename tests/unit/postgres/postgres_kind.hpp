// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_POSTGRES_POSTGRES_KIND_HPP
#define MORTISE_TESTS_UNIT_POSTGRES_POSTGRES_KIND_HPP

#include "mortise/db/postgres.hpp"
#include "mortise/txn/xa_postgres.hpp"
#include "support/postgres_server.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace mortise::test {

/// What is different at PostgreSQL.
struct session_kind {
    using session = db::postgres;
    using connection = db::postgres_connection;
    using config = db::postgres_config;
    using server = postgres_server;

    static server& shared() { return shared_postgres(); }
    static std::string database(server& at);
    static config config_of(const server& at, const std::string& database) {
        return db::parse_postgres_url(at.url(database));
    }
    /// Another place of the same server.
    static void place(config& of, std::uint16_t port) { of.servers = {{"127.0.0.1", port}}; }
    static void place_at_socket(config& of, const server& at) {
        of.servers = {{at.socket_folder().string(), at.port()}};
    }

    /// The first value of the first row, on an administrator's connection, which all worlds at one
    /// server share. @throws std::runtime_error
    static std::string
    sql(const server& at, const std::string& database, const std::string& statement);
    /// The number of connections that sessions have at the server.
    static std::string connections();
    static void end_connections(const server& at, const std::string& database);
    /// The number of statements that contain this text and run.
    static std::string running(const std::string& text);

    static void crash(server& at) { at.stop_immediately(); }

    /// A statement with `?` for parameters, as the server has it.
    static std::string marked(const std::string& statement);
    static constexpr const char* example = "17_postgres_session";
    static constexpr const char* example_output = "30 and 70 are left\n";
    static constexpr const char* table_options = "";
    static constexpr const char* conflict = "DO $$ BEGIN RAISE SQLSTATE '40001'; END $$";
    static error_code conflict_code() { return db::postgres_error("40001"); }
    template <class... Arguments>
    static auto xa_participant(Arguments&&... arguments) {
        return txn::xa_postgres(std::forward<Arguments>(arguments)...);
    }
    static constexpr const char* commit_alone_text = "COMMIT";  ///< Of a branch that is alone.
    /// Whether the server tells that a transaction has changed nothing.
    static constexpr bool tells_changes = true;
    static constexpr bool tells_ages = true;  ///< Of prepared transactions.
    /// A name of a transaction that is prepared; empty if there is none.
    static constexpr const char* prepared_any = "SELECT gid FROM pg_prepared_xacts LIMIT 1";
    static constexpr const char* prepare_text = "PREPARE TRANSACTION";
    static constexpr const char* commit_prepared_text = "COMMIT PREPARED";
    static constexpr const char* two_phase_statements[] = {
        "PREPARE TRANSACTION 'a'", "COMMIT PREPARED 'a'", "ROLLBACK PREPARED 'a'"};
    static error_code taken_code() { return db::postgres_error("42710"); }
    static error_code check_code() { return db::postgres_error("23514"); }
    static error_code duplicate_code() { return db::postgres_error("23505"); }
    static error_code read_only_code() { return db::postgres_error("25006"); }
    static error_code syntax_code() { return db::postgres_error("42601"); }
    static error_code deadlock_code() { return db::postgres_error("40P01"); }
    static error_code killed_code() { return db::postgres_error("57P01"); }
    static constexpr const char* sleep_long = "SELECT pg_sleep(3600)";
    static constexpr const char* sleep_short = "SELECT pg_sleep(0.005)";
    static constexpr const char* own_number = "SELECT pg_backend_pid()";
};

}  // namespace mortise::test

#endif
