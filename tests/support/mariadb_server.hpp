// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_MARIADB_SERVER_HPP
#define MORTISE_TESTS_SUPPORT_MARIADB_SERVER_HPP

#include "support/child_program.hpp"
#include "support/port_reservation.hpp"
#include "support/prepared_data.hpp"
#include "support/server_faults.hpp"
#include "support/tls_material.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::test {

/// A MariaDB server of the test's own on a free port of 127.0.0.1, with a copy of prepared data in
/// a scratch folder. It answers when the constructor returns, after about a second, and dies with
/// the test. It never waits for the disk; what it has committed survives `kill` all the same.
///
/// @par Threads One at a time: the one that made it, with which the server dies.
class mariadb_server {
public:
    /// Options such as "--max-connections=5".
    using settings = std::vector<std::string>;

    /// The account for tests, which may do everything.
    static constexpr const char* user = "mortise";
    static constexpr const char* password = "mortise-test";

    /// @throws std::runtime_error with its log, if it does not answer
    explicit mariadb_server(settings chosen = {}, preloads library = preloads::nothing);
    /// It also speaks TLS, and proves to be `proof`.
    explicit mariadb_server(const tls_material::identity& proof);
    ~mariadb_server() = default;
    mariadb_server(const mariadb_server&) = delete;
    mariadb_server& operator=(const mariadb_server&) = delete;

    std::uint16_t port() const noexcept { return port_.port(); }
    std::filesystem::path socket() const { return data_.folder() / "socket"; }
    /// The URL of a database, with user and password; `scheme` may also be "mysql".
    std::string url(const std::string& database, const std::string& scheme = "mariadb") const;
    bool runs() const { return process_ && !process_->ended(); }
    std::string log() const;
    /// Of a server that was made with `preloads::faults`.
    server_faults& faults() { return faults_.value(); }

    /// Starts it once more, at the same port, after its end.
    void start();
    /// Stops it as an administrator does (SIGTERM): open transactions are rolled back.
    void stop();
    /// Kills it (SIGKILL).
    void kill();
    /// Stops and starts it.
    void restart();
    /// Suspends it (SIGSTOP): it stays connected and does nothing until `resume`.
    void suspend() { running().suspend(); }
    void resume() { running().resume(); }

    /// Runs a statement as an administrator, on a connection of its own. @return the first column
    /// of the first row as text, empty if there is none. @throws std::runtime_error
    std::string run(const std::string& sql, const std::string& database = {}) const;

    /// Creates an empty database. @return its name, which no other call has given.
    std::string create_database(const std::string& stem = "test");

private:
    child_program& running() const;
    void write_first_statements() const;
    void await_end();
    bool answers() const;

    const prepared_data data_;
    std::optional<server_faults> faults_;
    settings chosen_;
    const port_reservation port_;
    int databases_ = 0;
    std::unique_ptr<child_program> process_;
};

/// One server for all tests of this program that need only databases of their own. It starts when
/// it is first asked for, which must be on the main thread.
mariadb_server& shared_mariadb();

}  // namespace mortise::test

#endif
