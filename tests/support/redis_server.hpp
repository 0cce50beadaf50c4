// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_REDIS_SERVER_HPP
#define MORTISE_TESTS_SUPPORT_REDIS_SERVER_HPP

#include "support/child_program.hpp"
#include "support/port_reservation.hpp"
#include "support/raw_redis.hpp"
#include "support/scratch_folder.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace mortise::test {

/// A Redis server of the test's own on a free port of 127.0.0.1, with its data in a scratch folder.
/// It answers when the constructor returns and dies with the test.
///
/// Nothing is persistent and `DEBUG` is allowed, unless it is told otherwise.
///
/// @par Threads One at a time: the one that made it, with which the server dies.
class redis_server {
public:
    /// Lines of redis.conf, such as "appendonly yes"; they replace ours for the same directive.
    using settings = std::vector<std::string>;
    enum class kind { server, sentinel };
    enum class data { kept, lost };

    /// The program that is started: the one that was found when the tests were configured, or what
    /// the environment says, `MORTISE_REDIS_SERVER`.
    static std::filesystem::path program();

    /// With a "tls-cert-file" among the settings it also listens at `tls_port()`.
    /// @throws std::runtime_error with its log, if it does not answer
    explicit redis_server(settings chosen = {}, kind type = kind::server);
    ~redis_server() = default;
    redis_server(const redis_server&) = delete;
    redis_server& operator=(const redis_server&) = delete;

    std::uint16_t port() const noexcept { return port_.port(); }
    /// @throws std::logic_error if it was not told to speak TLS
    std::uint16_t tls_port() const;
    std::string address() const { return "127.0.0.1:" + std::to_string(port()); }
    pid_t pid() const { return running().pid(); }
    bool runs() const { return process_ && !process_->ended(); }

    /// The data of the server, and its redis.conf, which the server itself may rewrite.
    const std::filesystem::path& folder() const noexcept { return folder_.path(); }
    std::string log() const;

    /// Starts it once more, at the same port, after its end; with what it had made persistent or
    /// without.
    void start(data contents = data::kept);

    /// Stops it as an administrator does (SIGTERM).
    void stop();
    /// Kills it (SIGKILL).
    void kill();
    /// Suspends it (SIGSTOP): it stays connected and does nothing until `resume`.
    void suspend() { running().suspend(); }
    void resume() { running().resume(); }

    raw_redis connect() const { return raw_redis(port()); }

private:
    child_program& running() const;
    void write_configuration(const settings& chosen) const;
    bool answers() const;
    void await_end();

    const kind kind_;
    const scratch_folder folder_;
    const port_reservation port_;
    std::unique_ptr<const port_reservation> tls_port_;
    std::unique_ptr<child_program> process_;
};

/// The setting that makes a server a replica of `primary`.
std::string replica_of(const redis_server& primary);

/// Waits until `count` replicas have all of the data. @throws std::runtime_error
void await_replicas(raw_redis& primary, std::size_t count);

/// One server for all tests of this program that need only keys of their own. It starts when it is
/// first asked for, which must be on the main thread.
redis_server& shared_redis();

}  // namespace mortise::test

#endif
