// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_ZOOKEEPER_SERVER_HPP
#define MORTISE_TESTS_SUPPORT_ZOOKEEPER_SERVER_HPP

#include "support/child_program.hpp"
#include "support/port_reservation.hpp"
#include "support/scratch_folder.hpp"
#include "support/server_faults.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::test {

/// An ensemble of ZooKeeper servers of the test's own, or one server alone, on free ports of
/// 127.0.0.1. Ticks are short (100 ms), nothing is synced to the disk, and empty containers are
/// deleted within 300 ms instead of a minute. It answers when the constructor returns, in about
/// half a second, and dies with the test.
///
/// @par Threads One at a time: the one that made it, with which the servers die.
class zookeeper_ensemble {
public:
    /// Lines of zoo.cfg, such as "maxSessionTimeout=1000"; they override ours.
    using settings = std::vector<std::string>;
    /// The port at which one member follows another, whose own port for that is `port`: a relay's.
    using route =
        std::function<std::uint16_t(std::size_t from, std::size_t to, std::uint16_t port)>;

    /// @param count 1: a server alone; else an odd number
    /// @throws std::runtime_error with the logs, if it does not answer
    explicit zookeeper_ensemble(
        std::size_t count = 1,
        settings chosen = {},
        route way = {},
        preloads library = preloads::nothing
    );
    ~zookeeper_ensemble() = default;
    zookeeper_ensemble(const zookeeper_ensemble&) = delete;
    zookeeper_ensemble& operator=(const zookeeper_ensemble&) = delete;

    std::size_t size() const noexcept { return members_.size(); }
    /// At which clients connect to 127.0.0.1.
    std::uint16_t port(std::size_t member = 0) const { return members_.at(member).clients.port(); }
    std::string address(std::size_t member = 0) const;
    /// All of them, with commas.
    std::string addresses() const;

    void start(std::size_t member);
    void kill(std::size_t member);
    /// Starts a member again with further lines of zoo.cfg, which override the others.
    void restart_with(std::size_t member, const settings& more);
    /// Whether it has ended by itself; then it can be started again.
    bool ended(std::size_t member) const { return running(member).ended(); }
    /// Deletes the data of one that does not run.
    void empty(std::size_t member) const;
    /// Suspends it (SIGSTOP): it stays connected and does nothing until `resume`.
    void suspend(std::size_t member) { running(member).suspend(); }
    void resume(std::size_t member) { running(member).resume(); }
    /// Waits until all that run serve. @throws std::runtime_error
    void await_service();

    /// The answer to one of the words that a server answers in plain text, such as "srvr"; empty:
    /// there is none. Our settings allow that one only (4lw.commands.whitelist).
    std::string ask(std::size_t member, const std::string& word) const;
    /// "leader", "follower" or "standalone"; empty if it does not serve.
    std::string role(std::size_t member) const;
    /// The member with that role. @throws std::runtime_error if there is none
    std::size_t member_with(const std::string& wanted) const;
    std::string log(std::size_t member) const;

    /// The clock and the disk of a member of an ensemble with `preloads::faults`.
    server_faults& faults(std::size_t member) { return members_.at(member).faults.value(); }

private:
    struct server {
        port_reservation clients;
        port_reservation peers;
        port_reservation election;
        std::optional<server_faults> faults;
        std::unique_ptr<child_program> process;
    };

    child_program& running(std::size_t member) const;
    std::filesystem::path folder(std::size_t member) const;
    void configure(std::size_t member, const settings& more = {}) const;
    void remove_logs_without_header(std::size_t member) const;

    const settings chosen_;
    const route way_;
    const scratch_folder folder_;
    std::deque<server> members_;
};

/// The server alone that all tests of this program share, with a node of its own for each.
zookeeper_ensemble& shared_zookeeper();

}  // namespace mortise::test

#endif
