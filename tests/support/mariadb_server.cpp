// SPDX-License-Identifier: BSL-1.0
#include "support/mariadb_server.hpp"

#include "support/eventually.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/mysql/any_connection.hpp>
#include <boost/mysql/results.hpp>

#include <csignal>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace mortise::test {
namespace {

namespace asio = boost::asio;
namespace mysql = boost::mysql;

constexpr auto start_limit = std::chrono::seconds(30);
constexpr auto stop_limit = std::chrono::seconds(30);
constexpr const char* log_file = "log";
constexpr const char* first_statements = "init.sql";

std::string text_of(const mysql::field_view& field) {
    std::ostringstream text;
    text << field;
    return std::move(text).str();
}

}  // namespace

mariadb_server::mariadb_server(settings chosen, preloads library)
    : data_(MORTISE_MARIADB_DATA, MORTISE_MARIADBD), chosen_(std::move(chosen)) {
    if (library == preloads::faults)
        faults_.emplace(data_);
    write_first_statements();
    start();
}

// The server's account cannot reach the files of the test's own.
mariadb_server::mariadb_server(const tls_material::identity& proof)
    : data_(MORTISE_MARIADB_DATA, MORTISE_MARIADBD) {
    write_first_statements();
    const auto lend = [this](const char* option, const std::filesystem::path& file) {
        const auto copy = data_.folder() / option;
        std::filesystem::copy_file(file, copy);
        data_.give(copy);
        chosen_.push_back("--" + std::string(option) + "=" + copy.string());
    };
    lend("ssl-cert", proof.certificate);
    lend("ssl-key", proof.key);
    lend("ssl-ca", shared_tls().authority());
    start();
}

void mariadb_server::write_first_statements() const {
    std::ofstream file(data_.folder() / first_statements);
    for (const char* const host : {"127.0.0.1", "localhost"}) {
        const std::string account = "'" + std::string(user) + "'@'" + host + "'";
        file << "CREATE USER IF NOT EXISTS " << account << " IDENTIFIED BY '" << password << "';\n"
             << "GRANT ALL ON *.* TO " << account << " WITH GRANT OPTION;\n";
    }
    file.close();
    data_.give(data_.folder() / first_statements);
}

std::string mariadb_server::url(const std::string& database, const std::string& scheme) const {
    return scheme + "://" + user + ":" + password + "@127.0.0.1:" + std::to_string(port()) + "/" +
           database;
}

std::string mariadb_server::log() const {
    std::ostringstream text;
    text << std::ifstream(data_.folder() / log_file).rdbuf();
    return text.str();
}

child_program& mariadb_server::running() const {
    if (!process_)
        throw std::logic_error("the server does not run");
    return *process_;
}

void mariadb_server::start() {
    if (runs())
        throw std::logic_error("the server runs already");
    const std::string folder = data_.folder().string();
    std::vector<std::string> command = {
        MORTISE_MARIADBD,
        "--no-defaults",
        "--datadir=" + data_.data().string(),
        "--port=" + std::to_string(port()),
        "--bind-address=127.0.0.1",
        "--socket=" + socket().string(),
        "--pid-file=" + folder + "/pid",
        "--tmpdir=" + folder,
        "--init-file=" + folder + "/" + first_statements,
        "--skip-name-resolve",
        "--innodb-buffer-pool-size=16M",
        "--innodb-flush-method=nosync",
        "--innodb-log-file-size=4M",
        "--innodb-use-native-aio=OFF",
        "--debug-no-sync",
        "--aria-pagecache-buffer-size=1M",
        "--key-buffer-size=1M",
    };
    command.insert(command.end(), chosen_.begin(), chosen_.end());
    if (faults_)
        command = faults_->with_library(std::move(command));
    process_ = std::make_unique<child_program>(
        data_.as_owner(std::move(command)), data_.folder() / log_file
    );
    bool answered = false;
    eventually([&] { return (answered = answers()) || process_->ended(); }, start_limit);
    if (!answered) {
        process_.reset();
        throw std::runtime_error("the MariaDB server does not answer:\n" + log());
    }
}

// The account for tests comes into being a moment after the port.
bool mariadb_server::answers() const {
    try {
        return run("SELECT 1") == "1";
    } catch (const std::runtime_error&) {
        return false;
    }
}

void mariadb_server::stop() {
    running().send(SIGTERM);
    await_end();
}

void mariadb_server::kill() {
    running().send(SIGKILL);
    await_end();
}

void mariadb_server::restart() {
    stop();
    start();
}

void mariadb_server::await_end() {
    const bool ended = running().wait(stop_limit).has_value();
    process_.reset();
    if (!ended)
        throw std::runtime_error("the MariaDB server does not end:\n" + log());
}

std::string mariadb_server::run(const std::string& sql, const std::string& database) const {
    asio::io_context context;
    mysql::any_connection connection(context);
    mysql::connect_params place;
    place.server_address.emplace_host_and_port("127.0.0.1", port());
    place.username = user;
    place.password = password;
    place.database = database;
    place.ssl = mysql::ssl_mode::disable;
    mysql::error_code failed;
    mysql::diagnostics text;
    mysql::results found;
    connection.connect(place, failed, text);
    if (!failed)
        connection.execute(sql, found, failed, text);
    if (failed) {
        throw std::runtime_error(
            sql + ": " + failed.message() + " " + std::string(text.server_message())
        );
    }
    return found.has_value() && !found.rows().empty() ? text_of(found.rows()[0][0]) : std::string();
}

std::string mariadb_server::create_database(const std::string& stem) {
    const std::string name = stem + std::to_string(++databases_);
    run("CREATE DATABASE `" + name + "`");
    return name;
}

mariadb_server& shared_mariadb() {
    static mariadb_server server;
    return server;
}

}  // namespace mortise::test
