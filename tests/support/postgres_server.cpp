// SPDX-License-Identifier: BSL-1.0
#include "support/postgres_server.hpp"

#include "support/eventually.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace mortise::test {
namespace {

constexpr auto start_limit = std::chrono::seconds(30);
constexpr auto stop_limit = std::chrono::seconds(30);
constexpr const char* log_file = "log";

template <class T>
using owned = std::unique_ptr<T, void (*)(T*)>;

}  // namespace

postgres_server::postgres_server(settings chosen, preloads library)
    : postgres_server(MORTISE_POSTGRES_DATA, std::move(chosen), library) {}

postgres_server::postgres_server(
    const std::filesystem::path& original, settings chosen, preloads library
)
    : chosen_(std::move(chosen)), data_(original, MORTISE_POSTGRES) {
    if (library == preloads::faults)
        faults_.emplace(data_);
    start();
}

std::unique_ptr<postgres_server> postgres_server::make_standby() const {
    const auto copy = data_.folder() / "standby";
    const auto program = std::filesystem::path(MORTISE_POSTGRES).parent_path() / "pg_basebackup";
    std::vector<std::string> command = {
        program.string(),
        "--pgdata=" + copy.string(),
        "--host=" + socket_folder().string(),
        "--port=" + std::to_string(port()),
        "--username=" + std::string(user),
        "--write-recovery-conf",
        "--wal-method=stream",
        "--checkpoint=fast",
        "--no-sync"};
    const auto words = data_.folder() / "standby.log";
    child_program backup(data_.as_owner(std::move(command)), words);
    if (backup.wait(start_limit) != 0) {
        std::ostringstream text;
        text << std::ifstream(words).rdbuf();
        throw std::runtime_error("no standby can be made:\n" + text.str());
    }
    return std::unique_ptr<postgres_server>(new postgres_server(copy, chosen_, preloads::nothing));
}

// A killed server leaves its lock in the kernel's shared memory behind; one that stops does not.
postgres_server::~postgres_server() {
    try {
        if (runs())
            end(SIGQUIT);
    } catch (const std::exception&) {
        // ~child_program kills it
    }
}

std::string postgres_server::url(const std::string& database) const {
    return std::string("postgresql://") + user + ":" + password +
           "@127.0.0.1:" + std::to_string(port()) + "/" + database;
}

std::string postgres_server::log() const {
    std::ostringstream text;
    text << std::ifstream(data_.folder() / log_file).rdbuf();
    return text.str();
}

child_program& postgres_server::running() const {
    if (!process_)
        throw std::logic_error("the server does not run");
    return *process_;
}

void postgres_server::start() {
    if (runs())
        throw std::logic_error("the server runs already");
    settings all = {
        "listen_addresses=127.0.0.1",
        "port=" + std::to_string(port()),
        "unix_socket_directories=" + data_.folder().string(),
        "fsync=off",
        "full_page_writes=off",
        "shared_buffers=16MB",
        "max_connections=200",
        "max_prepared_transactions=100",
        "autovacuum=off",
    };
    all.insert(all.end(), chosen_.begin(), chosen_.end());
    std::vector<std::string> command = {MORTISE_POSTGRES, "-D", data().string()};
    for (const std::string& each : all)
        command.insert(command.end(), {"-c", each});
    if (faults_)
        command = faults_->with_library(std::move(command));
    process_ = std::make_unique<child_program>(
        data_.as_owner(std::move(command)), data_.folder() / log_file
    );
    bool answered = false;
    eventually([&] { return (answered = answers()) || process_->ended(); }, start_limit);
    if (!answered) {
        process_.reset();
        throw std::runtime_error("the PostgreSQL server does not answer:\n" + log());
    }
}

bool postgres_server::answers() const {
    try {
        return run("SELECT 1") == "1";
    } catch (const std::runtime_error&) {
        return false;
    }
}

void postgres_server::end(int signal) {
    const auto workers = children_of(running().pid());
    running().send(signal);
    const bool ended = running().wait(stop_limit).has_value();
    process_.reset();
    // The next server refuses to start as long as one of them is left.
    const bool all_ended = eventually([&] {
        return std::all_of(workers.begin(), workers.end(), [](pid_t each) {
            return has_ended(each);
        });
    });
    if (!ended || !all_ended)
        throw std::runtime_error("the PostgreSQL server does not end:\n" + log());
}

void postgres_server::stop() {
    end(SIGINT);
}

void postgres_server::stop_immediately() {
    end(SIGQUIT);
}

// Its other processes see the death of the first one and end.
void postgres_server::kill() {
    end(SIGKILL);
}

void postgres_server::restart() {
    stop();
    start();
}

void postgres_server::reload() {
    running().send(SIGHUP);
}

void postgres_server::suspend() {
    running().suspend();  // first, so that it starts no others
    for (const pid_t each : children_of(running().pid()))
        ::kill(each, SIGSTOP);
}

void postgres_server::resume() {
    for (const pid_t each : children_of(running().pid()))
        ::kill(each, SIGCONT);
    running().resume();
}

std::string postgres_server::run(const std::string& sql, const std::string& database) const {
    return postgres_administrator(url(database)).run(sql);
}

class postgres_administrator::connection : public owned<PGconn> {
public:
    using owned<PGconn>::owned;
};

postgres_administrator::postgres_administrator(const std::string& url) {
    const std::string place = url + "?connect_timeout=10&sslmode=disable";
    connection_ = std::make_unique<connection>(::PQconnectdb(place.c_str()), &::PQfinish);
    if (::PQstatus(connection_->get()) != CONNECTION_OK)
        throw std::runtime_error(::PQerrorMessage(connection_->get()));
}

postgres_administrator::~postgres_administrator() = default;

std::string postgres_administrator::run(const std::string& sql) {
    const owned<PGresult> found(::PQexec(connection_->get(), sql.c_str()), &::PQclear);
    const auto status = ::PQresultStatus(found.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        throw std::runtime_error(sql + ": " + ::PQerrorMessage(connection_->get()));
    if (::PQntuples(found.get()) == 0 || ::PQnfields(found.get()) == 0)
        return {};
    return ::PQgetvalue(found.get(), 0, 0);
}

std::string postgres_server::create_database(const std::string& stem) {
    const std::string name = stem + std::to_string(++databases_);
    run("CREATE DATABASE \"" + name + "\" STRATEGY file_copy");
    return name;
}

postgres_server& shared_postgres() {
    static postgres_server server;
    return server;
}

}  // namespace mortise::test
