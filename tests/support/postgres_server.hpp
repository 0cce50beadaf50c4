// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_POSTGRES_SERVER_HPP
#define MORTISE_TESTS_SUPPORT_POSTGRES_SERVER_HPP

#include "support/child_program.hpp"
#include "support/port_reservation.hpp"
#include "support/prepared_data.hpp"
#include "support/server_faults.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test {

/// A connection of an administrator, which blocks.
///
/// @par Threads One at a time.
class postgres_administrator {
public:
    /// @throws std::runtime_error
    explicit postgres_administrator(const std::string& url);
    ~postgres_administrator();
    postgres_administrator(const postgres_administrator&) = delete;
    postgres_administrator& operator=(const postgres_administrator&) = delete;

    /// Runs statements. @return the first column of the first row as text, empty if there is none.
    /// @throws std::runtime_error
    std::string run(const std::string& sql);

private:
    class connection;
    std::unique_ptr<connection> connection_;
};

/// A PostgreSQL server of the test's own on a free port of 127.0.0.1, with a copy of prepared data
/// in a scratch folder. It answers when the constructor returns, after less than a second, and dies
/// with the test. It never waits for the disk; what it has committed survives `kill` all the same.
///
/// @par Threads One at a time: the one that made it, with which the server dies.
class postgres_server {
public:
    /// Settings such as "max_connections=5".
    using settings = std::vector<std::string>;

    /// The account for tests, which may do everything.
    static constexpr const char* user = "mortise";
    static constexpr const char* password = "mortise-test";

    /// @throws std::runtime_error with its log, if it does not answer
    explicit postgres_server(settings chosen = {}, preloads library = preloads::nothing);
    /// A standby of this server, which follows it until `SELECT pg_promote()`.
    std::unique_ptr<postgres_server> make_standby() const;
    ~postgres_server();
    postgres_server(const postgres_server&) = delete;
    postgres_server& operator=(const postgres_server&) = delete;

    std::uint16_t port() const noexcept { return port_.port(); }
    /// The folder of its Unix socket, where no password is asked for.
    const std::filesystem::path& socket_folder() const noexcept { return data_.folder(); }
    /// The URL of a database, with user and password.
    std::string url(const std::string& database = "postgres") const;
    /// Its data: to change pg_hba.conf, say, before a `reload`.
    std::filesystem::path data() const { return data_.data(); }
    bool runs() const { return process_ && !process_->ended(); }
    std::string log() const;
    /// Of a server that was made with `preloads::faults`.
    server_faults& faults() { return faults_.value(); }

    /// Makes it own `file`: a key, say, that it reads.
    void give(const std::filesystem::path& file) const { data_.give(file); }
    /// The command that runs `command` with the account of the server.
    std::vector<std::string> as_owner(std::vector<std::string> command) const {
        return data_.as_owner(std::move(command));
    }

    /// Starts it once more, at the same port, after its end.
    void start();
    /// Stops it as an administrator does by `-m fast`: open transactions are rolled back.
    void stop();
    /// Stops it as an administrator does by `-m immediate`: as a crash.
    void stop_immediately();
    /// Kills all of its processes (SIGKILL).
    void kill();
    /// Stops it fast and starts it.
    void restart();
    /// Has it read its configuration again.
    void reload();
    /// Suspends all of its processes (SIGSTOP): it stays connected and does nothing until `resume`.
    void suspend();
    void resume();

    /// Runs a statement as an administrator, on a connection of its own. @return the first column
    /// of the first row as text, empty if there is none. @throws std::runtime_error
    std::string run(const std::string& sql, const std::string& database = "postgres") const;

    /// Creates an empty database. @return its name, which no other call has given.
    std::string create_database(const std::string& stem = "test");

private:
    postgres_server(const std::filesystem::path& original, settings chosen, preloads library);
    child_program& running() const;
    bool answers() const;
    void end(int signal);

    const settings chosen_;
    const prepared_data data_;
    std::optional<server_faults> faults_;
    const port_reservation port_;
    int databases_ = 0;
    std::unique_ptr<child_program> process_;
};

/// One server for all tests of this program that need only databases of their own. It starts when
/// it is first asked for, which must be on the main thread.
postgres_server& shared_postgres();

}  // namespace mortise::test

#endif
