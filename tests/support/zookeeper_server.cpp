// SPDX-License-Identifier: BSL-1.0
#include "support/zookeeper_server.hpp"

#include "support/eventually.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace mortise::test {
namespace {

// A busy machine took more than thirty.
constexpr auto start_limit = std::chrono::seconds(120);

std::string answer_of(std::uint16_t port, const std::string& word) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(port);
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval limit{1, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    std::string answer;
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0 &&
        ::send(fd, word.data(), word.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(word.size())) {
        std::array<char, 4'096> some{};
        for (ssize_t got = 0; (got = ::recv(fd, some.data(), some.size(), 0)) > 0;)
            answer.append(some.data(), static_cast<std::size_t>(got));
    }
    ::close(fd);
    return answer;
}

}  // namespace

zookeeper_ensemble::zookeeper_ensemble(
    std::size_t count, settings chosen, route way, preloads library
)
    : chosen_(std::move(chosen)), way_(std::move(way)) {
    for (std::size_t i = 0; i < count; ++i)
        members_.emplace_back();
    for (std::size_t i = 0; i < count; ++i) {
        std::filesystem::create_directories(folder(i) / "data");
        std::ofstream(folder(i) / "data" / "myid") << i + 1 << '\n';
        if (library == preloads::faults)
            members_[i].faults.emplace(folder(i));
        configure(i);
        start(i);
    }
    await_service();
}

std::filesystem::path zookeeper_ensemble::folder(std::size_t member) const {
    return folder_.path() / std::to_string(member + 1);
}

void zookeeper_ensemble::configure(std::size_t member, const settings& more) const {
    std::ofstream out(folder(member) / "zoo.cfg");
    out << "tickTime=100\ninitLimit=50\nsyncLimit=20\nadmin.enableServer=false\n"
        << "dataDir=" << (folder(member) / "data").string() << '\n'
        << "clientPort=" << members_[member].clients.port() << '\n'
        << "clientPortAddress=127.0.0.1\nmaxSessionTimeout=60000\n"
        << "4lw.commands.whitelist=srvr\n";
    for (std::size_t i = 0; members_.size() > 1 && i < members_.size(); ++i) {
        const auto own = members_[i].peers.port();
        out << "server." << i + 1
            << "=127.0.0.1:" << (way_ && i != member ? way_(member, i, own) : own) << ':'
            << members_[i].election.port() << '\n';
    }
    for (const auto& each : chosen_)
        out << each << '\n';
    for (const auto& each : more)
        out << each << '\n';
}

void zookeeper_ensemble::restart_with(std::size_t member, const settings& more) {
    kill(member);
    configure(member, more);
    start(member);
    await_service();
}

// A server that is killed when it has just made a log does not start again: the log has no header
// yet (EOFException). Nothing of it was acknowledged; an administrator removes it, too.
void zookeeper_ensemble::remove_logs_without_header(std::size_t member) const {
    constexpr std::uintmax_t header_size = 16;
    const auto data = folder(member) / "data" / "version-2";
    if (!std::filesystem::exists(data))
        return;
    const std::filesystem::directory_iterator found(data);
    const std::vector<std::filesystem::path> files(begin(found), end(found));
    for (const auto& each : files) {
        if (each.filename().string().starts_with("log.") &&
            std::filesystem::file_size(each) < header_size)
            std::filesystem::remove(each);
    }
}

void zookeeper_ensemble::start(std::size_t member) {
    remove_logs_without_header(member);
    std::vector<std::string> command = {
        MORTISE_JAVA,
        "-Xmx96m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-Djava.net.preferIPv4Stack=true",
        "-Dzookeeper.forceSync=no",
        "-Dzookeeper.preAllocSize=64",
        "-Dznode.container.checkIntervalMs=300",
        "-Dznode.container.maxPerMinute=600000",
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
        "-cp",
        MORTISE_ZOOKEEPER_CLASSES,
        "org.apache.zookeeper.server.quorum.QuorumPeerMain",
        (folder(member) / "zoo.cfg").string()};
    if (const auto& faults = members_.at(member).faults)
        command = faults->with_library(std::move(command));
    members_[member].process = std::make_unique<child_program>(command, folder(member) / "log");
}

void zookeeper_ensemble::kill(std::size_t member) {
    running(member).send(SIGKILL);
    running(member).wait();
    members_[member].process.reset();
}

void zookeeper_ensemble::empty(std::size_t member) const {
    if (members_.at(member).process)
        throw std::logic_error("the server runs");
    std::filesystem::remove_all(folder(member) / "data" / "version-2");
}

void zookeeper_ensemble::await_service() {
    for (std::size_t i = 0; i < members_.size(); ++i) {
        const auto& process = members_[i].process;
        if (!process)
            continue;
        bool serves = false;
        eventually([&] { return (serves = !role(i).empty()) || process->ended(); }, start_limit);
        if (!serves)
            throw std::runtime_error("the ZooKeeper server does not answer:\n" + log(i));
    }
}

std::string zookeeper_ensemble::ask(std::size_t member, const std::string& word) const {
    return answer_of(members_.at(member).clients.port(), word);
}

std::string zookeeper_ensemble::role(std::size_t member) const {
    const auto answer = ask(member, "srvr");
    const std::string mark = "Mode: ";
    const auto at = answer.find(mark);
    if (at == std::string::npos)
        return {};
    const auto begin = at + mark.size();
    return answer.substr(begin, answer.find('\n', begin) - begin);
}

std::size_t zookeeper_ensemble::member_with(const std::string& wanted) const {
    for (std::size_t i = 0; i < members_.size(); ++i) {
        if (members_[i].process && role(i) == wanted)
            return i;
    }
    throw std::runtime_error("no server of the ensemble is a " + wanted);
}

child_program& zookeeper_ensemble::running(std::size_t member) const {
    const auto& process = members_.at(member).process;
    if (!process)
        throw std::logic_error("the server does not run");
    return *process;
}

std::string zookeeper_ensemble::address(std::size_t member) const {
    return "127.0.0.1:" + std::to_string(port(member));
}

std::string zookeeper_ensemble::addresses() const {
    std::string all;
    for (std::size_t i = 0; i < members_.size(); ++i)
        all += (i == 0 ? "" : ",") + address(i);
    return all;
}

std::string zookeeper_ensemble::log(std::size_t member) const {
    std::ostringstream text;
    text << std::ifstream(folder(member) / "log").rdbuf();
    return text.str();
}

zookeeper_ensemble& shared_zookeeper() {
    static zookeeper_ensemble only(1, {"maxSessionTimeout=200000000"});
    return only;
}

}  // namespace mortise::test
