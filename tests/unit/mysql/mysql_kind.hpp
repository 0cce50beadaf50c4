// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_MYSQL_MYSQL_KIND_HPP
#define MORTISE_TESTS_UNIT_MYSQL_MYSQL_KIND_HPP

#include "mortise/db/mysql.hpp"
#include "mortise/txn/xa_mysql.hpp"
#include "support/mariadb_server.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace mortise::test {

/// What is different at MariaDB.
struct session_kind {
    using session = db::mysql;
    using connection = db::mysql_connection;
    using config = db::mysql_config;
    using server = mariadb_server;

    static server& shared() { return shared_mariadb(); }
    static std::string database(server& at) { return at.create_database(); }
    static config config_of(const server& at, const std::string& database) {
        auto config = db::parse_mysql_url(at.url(database));
        config.outcome_table = "outcome";
        return config;
    }
    /// Another place of the same server.
    static void place(config& of, std::uint16_t port) { of.port = port; }
    static void place_at_socket(config& of, const server& at) { of.socket = at.socket(); }

    /// The first value of the first row, on an administrator's connection, which all worlds at one
    /// server share. @throws std::exception
    static std::string
    sql(const server& at, const std::string& database, const std::string& statement);
    /// The number of connections that sessions have at the server.
    static std::string connections() {
        return "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND"
               " id <> CONNECTION_ID()";
    }
    static void end_connections(const server& at, const std::string& database);
    /// The number of statements that contain this text and run.
    static std::string running(const std::string& text) {
        return "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND"
               " command IN ('Query', 'Execute') AND info LIKE '%" +
               text + "%' AND id <> CONNECTION_ID()";
    }

    static void crash(server& at) { at.kill(); }

    /// A statement with `?` for parameters, as the server has it.
    static std::string marked(const std::string& statement) { return statement; }
    static constexpr const char* example = "18_mysql_session";
    static constexpr const char* example_output = "49 and 51 are left\n";
    static constexpr const char* table_options = " ENGINE=InnoDB";
    static constexpr const char* conflict = "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213";
    static error_code conflict_code() { return db::mysql_error(1213); }
    template <class... Arguments>
    static auto xa_participant(Arguments&&... arguments) {
        return txn::xa_mysql(std::forward<Arguments>(arguments)...);
    }
    static constexpr const char* commit_alone_text = "ONE PHASE";  ///< Of a branch that is alone.
    /// Whether the server tells that a transaction has changed nothing.
    static constexpr bool tells_changes = false;
    static constexpr bool tells_ages = false;  ///< Of prepared transactions.
    /// A name of a transaction that is prepared; empty if there is none.
    static constexpr const char* prepared_any = "XA RECOVER";
    static constexpr const char* prepare_text = "XA PREPARE";
    static constexpr const char* commit_prepared_text = "XA COMMIT";
    static constexpr const char* two_phase_statements[] = {"XA START 'a','b'", "XA COMMIT 'a','b'"};
    static error_code taken_code() { return db::mysql_error(1440); }
    static error_code check_code() { return db::mysql_error(4025); }
    static error_code duplicate_code() { return db::mysql_error(1062); }
    static error_code read_only_code() { return db::mysql_error(1792); }
    static error_code syntax_code() { return db::mysql_error(1064); }
    static error_code deadlock_code() { return db::mysql_error(1213); }
    static constexpr const char* sleep_long = "SELECT SLEEP(3600)";
    static constexpr const char* sleep_short = "SELECT SLEEP(0.005)";
    static constexpr const char* own_number = "SELECT CONNECTION_ID()";
};

}  // namespace mortise::test

#endif
