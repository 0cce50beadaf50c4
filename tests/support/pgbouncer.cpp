// SPDX-License-Identifier: BSL-1.0
#include "support/pgbouncer.hpp"

#include "support/eventually.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace mortise::test {

// It does not run as root, and works in the folder of the server for that reason, too.
pgbouncer::pgbouncer(const postgres_server& server) {
    const auto& folder = server.socket_folder();
    const auto settings = folder / "pgbouncer.ini";
    const auto users = folder / "pgbouncer.users";
    const auto log = folder / "pgbouncer.log";
    std::ofstream(users) << '"' << postgres_server::user << "\" \"" << postgres_server::password
                         << "\"\n";
    std::ofstream(settings) << "[databases]\n* = host=127.0.0.1 port=" << server.port()
                            << "\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = "
                            << port_.port() << "\nunix_socket_dir =\nauth_type = md5\nauth_file = "
                            << users.string() << "\npool_mode = transaction\n";
    // The server's owner may not be able to reach the program where it is.
    const auto program = folder / "pgbouncer";
    std::filesystem::copy_file(
        MORTISE_PGBOUNCER, program, std::filesystem::copy_options::overwrite_existing
    );
    for (const auto& each : {program, users, settings})
        server.give(each);
    process_.emplace(server.as_owner({program.string(), settings.string()}), log);
    const auto answers = [&] {
        try {
            return postgres_administrator(url()).run("SELECT 1") == "1";
        } catch (const std::runtime_error&) {
            return false;
        }
    };
    bool answered = false;
    eventually([&] { return (answered = answers()) || process_->ended(); });
    if (answered)
        return;
    std::ostringstream text;
    text << std::ifstream(log).rdbuf();
    throw std::runtime_error("PgBouncer does not answer:\n" + text.str());
}

std::string pgbouncer::url(const std::string& database) const {
    return std::string("postgresql://") + postgres_server::user + ":" + postgres_server::password +
           "@127.0.0.1:" + std::to_string(port_.port()) + "/" + database;
}

}  // namespace mortise::test
