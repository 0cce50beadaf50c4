// SPDX-License-Identifier: BSL-1.0
#include "bench/run_control.hpp"
#include "bench/server_meter.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "mortise/store/mysql.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/mysql/any_address.hpp>
#include <boost/mysql/any_connection.hpp>
#include <boost/mysql/connect_params.hpp>
#include <boost/mysql/diagnostics.hpp>
#include <boost/mysql/results.hpp>
#include <boost/mysql/statement.hpp>

#include <optional>

namespace mortise::tool {
namespace {

namespace asio = boost::asio;
namespace mysql = boost::mysql;

constexpr unsigned query_interrupted = 1317;

asio::ssl::context meter_tls(const db::mysql_config& server) {
    asio::ssl::context tls(asio::ssl::context::tls_client);
    if (!server.tls)
        return tls;
    tls.set_verify_mode(asio::ssl::verify_peer);
    tls.set_verify_callback(asio::ssl::host_name_verification(server.host));
    if (server.ca_file.empty())
        tls.set_default_verify_paths();
    else
        tls.load_verify_file(server.ca_file.string());
    if (!server.certificate_file.empty()) {
        tls.use_certificate_chain_file(server.certificate_file.string());
        tls.use_private_key_file(server.key_file.string(), asio::ssl::context::pem);
    }
    return tls;
}

mysql::connect_params meter_login(const db::mysql_config& server) {
    mysql::connect_params login;
    if (server.socket.empty())
        login.server_address.emplace_host_and_port(server.host, server.port);
    else
        login.server_address.emplace_unix_path(server.socket.string());
    login.username = server.user;
    login.password = server.password;
    login.database = server.database;
    login.ssl = server.tls ? mysql::ssl_mode::require : mysql::ssl_mode::disable;
    login.multi_queries = true;
    return login;
}

class blocking_connection {
public:
    explicit blocking_connection(const db::mysql_config& server)
        : tls_(meter_tls(server)), connection_(context_, settings()) {
        mysql::error_code failed;
        mysql::diagnostics notes;
        connection_.connect(meter_login(server), failed, notes);
        require(failed, notes);
        run("SET NAMES utf8mb4");
    }

    /// Runs statements. @return empty if they were interrupted by KILL QUERY.
    std::optional<mysql::results> try_run(const std::string& sql) {
        mysql::error_code failed;
        mysql::diagnostics notes;
        mysql::results found;
        connection_.execute(sql, found, failed, notes);
        if (failed.value() == static_cast<int>(query_interrupted))
            return std::nullopt;
        require(failed, notes);
        return found;
    }

    mysql::results run(const std::string& sql) {
        auto found = try_run(sql);
        return found ? std::move(*found) : run(sql);
    }

    mysql::statement prepare(const std::string& sql) {
        mysql::error_code failed;
        mysql::diagnostics notes;
        auto prepared = connection_.prepare_statement(sql, failed, notes);
        require(failed, notes);
        return prepared;
    }

    void execute(const mysql::statement& prepared) {
        mysql::error_code failed;
        mysql::diagnostics notes;
        connection_.execute(prepared.bind(), done_, failed, notes);
        require(failed, notes);
    }

    std::uint32_t id() const { return connection_.connection_id().value_or(0); }

private:
    mysql::any_connection_params settings() {
        mysql::any_connection_params settings;
        settings.ssl_context = &tls_;
        return settings;
    }

    static void require(const mysql::error_code& failed, const mysql::diagnostics& notes) {
        if (!failed)
            return;
        const auto words = notes.server_message();
        throw failure(
            exit_code::unavailable,
            "the MariaDB or MySQL server does not answer the measurement",
            words.empty() ? failed.message() : std::string(words)
        );
    }

    asio::io_context context_{1};
    asio::ssl::context tls_;
    mysql::any_connection connection_;
    mysql::results done_;
};

/// Messages go as those of the store do: whoever sends one changes a row and ends the wait of the
/// receiver's second connection.
class mysql_meter final : public blocking_meter {
public:
    explicit mysql_meter(db::mysql_config server)
        : server_(std::move(server)), connection_(server_) {}

    std::string_view exchange() const noexcept override {
        return "updates of one row of a table like the store's, prepared, by the client library";
    }

    // Of a message with several statements the server counts each, but it ends with a commit.
    std::optional<server_counts> counts(bool) override {
        const auto found = connection_.run("SHOW GLOBAL STATUS WHERE Variable_name IN "
                                           "('Bytes_received', 'Com_commit', 'Com_stmt_execute')");
        server_counts now;
        now.commands = 0;
        for (const auto& each : found.rows()) {
            const auto count = std::stoull(std::string(each.at(1).as_string()));
            if (each.at(0).as_string() == "Bytes_received")
                now.bytes = count;
            else
                *now.commands += count;
        }
        return now;
    }

    bool counts_heartbeats() const noexcept override { return false; }

    void subscribe(const std::string& channel) override {
        bell_.emplace(server_);
        channel_ = channel;
        connection_.run(
            "CREATE TABLE IF NOT EXISTS mortise_bench_echo (channel VARBINARY(200) PRIMARY KEY, "
            "changes BIGINT NOT NULL, word VARBINARY(10) NOT NULL, bell BIGINT NOT NULL) "
            "ENGINE=InnoDB"
        );
        connection_.run("DO GET_LOCK('" + own_lock() + "', 10)");
        connection_.run(
            "REPLACE INTO mortise_bench_echo VALUES ('" + channel + "', 0, '', " +
            std::to_string(bell_->id()) + ')'
        );
    }

    void clean_up() override {
        connection_.run("DROP TABLE IF EXISTS mortise_bench_row, mortise_bench_echo");
    }

protected:
    void exchange_once() override {
        if (!bump_)
            prepare();
        connection_.execute(*bump_);
    }

    void publish(const std::string& channel, const std::string& word) override {
        connection_.run(
            "UPDATE mortise_bench_echo SET changes = changes + 1, word = '" + word +
            "' WHERE channel = '" + channel +
            "'; SELECT bell INTO @bell FROM mortise_bench_echo WHERE channel = '" + channel +
            "'; KILL QUERY @bell"
        );
    }

    std::string hear() override {
        for (;;) {
            const auto found = bell_->try_run(
                "SELECT changes, word, IF(changes <> " + std::to_string(seen_) + ", 0, GET_LOCK('" +
                own_lock() + "', 5)) FROM mortise_bench_echo WHERE channel = '" + channel_ + '\''
            );
            interruption::check();
            if (!found)
                continue;  // rung: the next one sees the change
            const auto first = found->rows().at(0);
            if (first.at(0).as_int64() == seen_)
                continue;
            seen_ = first.at(0).as_int64();
            const auto word = first.at(1).as_blob();
            return std::string(word.begin(), word.end());
        }
    }

private:
    std::string own_lock() const { return channel_; }

    void prepare() {
        clean_up();
        connection_.run(
            "CREATE TABLE mortise_bench_row (id INT PRIMARY KEY, changes BIGINT NOT NULL) "
            "ENGINE=InnoDB; INSERT INTO mortise_bench_row VALUES (1, 0)"
        );
        bump_ =
            connection_.prepare("UPDATE mortise_bench_row SET changes = changes + 1 WHERE id = 1");
    }

    const db::mysql_config server_;
    blocking_connection connection_;
    std::optional<blocking_connection> bell_;
    std::optional<mysql::statement> bump_;
    std::string channel_;
    std::int64_t seen_ = 0;
};

}  // namespace

std::unique_ptr<server_meter> make_mysql_meter(const std::string& store) {
    if (!store.starts_with("mysql:") && !store.starts_with("mariadb:"))
        return nullptr;
    return std::make_unique<mysql_meter>(parse_mysql_store_url(store).server);
}

}  // namespace mortise::tool
