// SPDX-License-Identifier: BSL-1.0
#include "support/redis_server.hpp"

#include "support/eventually.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>

namespace mortise::test {
namespace {

constexpr const char* configuration = "redis.conf";
constexpr const char* log_file = "log";
constexpr auto start_limit = std::chrono::seconds(20);
constexpr auto stop_limit = std::chrono::seconds(30);

std::string_view directive_of(std::string_view line) {
    return line.substr(0, line.find(' '));
}

bool has(const redis_server::settings& chosen, std::string_view directive) {
    return std::any_of(chosen.begin(), chosen.end(), [directive](const std::string& line) {
        return directive_of(line) == directive;
    });
}

}  // namespace

std::filesystem::path redis_server::program() {
    const char* const chosen = std::getenv("MORTISE_REDIS_SERVER");
    return chosen ? chosen : MORTISE_REDIS_SERVER;
}

redis_server::redis_server(settings chosen, kind type) : kind_(type) {
    if (has(chosen, "tls-cert-file"))
        tls_port_ = std::make_unique<port_reservation>();
    write_configuration(chosen);
    start();
}

void redis_server::write_configuration(const settings& chosen) const {
    settings all = {"bind 127.0.0.1", "port " + std::to_string(port()), "dir " + folder().string()};
    if (tls_port_)
        all.push_back("tls-port " + std::to_string(tls_port_->port()));
    if (kind_ == kind::server) {
        all.emplace_back("save \"\"");
        all.emplace_back("enable-debug-command local");
        all.emplace_back("repl-diskless-sync-delay 0");
    }
    std::erase_if(all, [&](const std::string& line) { return has(chosen, directive_of(line)); });
    all.insert(all.end(), chosen.begin(), chosen.end());
    std::ofstream file(folder() / configuration);
    for (const std::string& line : all)
        file << line << '\n';
    if (!file.flush())
        throw std::runtime_error("redis.conf cannot be written");
}

std::uint16_t redis_server::tls_port() const {
    if (!tls_port_)
        throw std::logic_error("this server was not told to speak TLS");
    return tls_port_->port();
}

std::string redis_server::log() const {
    std::ostringstream text;
    text << std::ifstream(folder() / log_file).rdbuf();
    return text.str();
}

child_program& redis_server::running() const {
    if (!process_)
        throw std::logic_error("the server does not run");
    return *process_;
}

void redis_server::start(data contents) {
    if (runs())
        throw std::logic_error("the server runs already");
    if (contents == data::lost) {
        std::filesystem::remove(folder() / "dump.rdb");
        std::filesystem::remove_all(folder() / "appendonlydir");
    }
    std::vector<std::string> command = {program().string(), (folder() / configuration).string()};
    if (kind_ == kind::sentinel)
        command.emplace_back("--sentinel");
    process_ = std::make_unique<child_program>(command, folder() / log_file);
    bool answered = false;
    eventually([&] { return (answered = answers()) || process_->ended(); }, start_limit);
    if (!answered) {
        process_.reset();
        throw std::runtime_error("the Redis server does not answer:\n" + log());
    }
}

// Whether the server answers. A refusal will do, but not "LOADING": its data is not there yet then.
bool redis_server::answers() const {
    try {
        const redis_value reply = connect().try_command({"PING"});
        return !reply.is_error() || !reply.text.starts_with("LOADING");
    } catch (const std::system_error&) {
        return false;
    }
}

void redis_server::stop() {
    running().send(SIGTERM);
    await_end();
}

void redis_server::kill() {
    running().send(SIGKILL);
    await_end();
}

void redis_server::await_end() {
    const bool ended = running().wait(stop_limit).has_value();
    process_.reset();
    if (!ended)
        throw std::runtime_error("the Redis server does not end:\n" + log());
}

std::string replica_of(const redis_server& primary) {
    return "replicaof 127.0.0.1 " + std::to_string(primary.port());
}

void await_replicas(raw_redis& primary, std::size_t count) {
    const auto all_there = [&] {
        std::size_t there = 0;
        for (const auto& [name, value] : primary.info("replication")) {
            if (name.starts_with("slave") && value.find("state=online") != std::string::npos)
                ++there;
        }
        return there >= count;
    };
    if (!eventually(all_there))
        throw std::runtime_error("the replicas are not ready");
}

redis_server& shared_redis() {
    static redis_server server;
    return server;
}

}  // namespace mortise::test
