// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_KAFKA_BROKER_HPP
#define MORTISE_TESTS_SUPPORT_KAFKA_BROKER_HPP

#include "support/child_program.hpp"
#include "support/port_reservation.hpp"
#include "support/raw_kafka.hpp"
#include "support/scratch_folder.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace mortise::test {

/// A Kafka broker of the test's own, a cluster of one node, on free ports of 127.0.0.1, with its
/// data in a scratch folder. It answers when the constructor returns and dies with the test. That
/// takes about two seconds: use `shared_kafka()` where topics of one's own are enough.
///
/// @par Threads One at a time: the one that made it, with which the broker dies.
class kafka_broker {
public:
    /// Lines of server.properties, such as "auto.create.topics.enable=true"; they override those of
    /// tests/kafka/server.properties.
    using settings = std::vector<std::string>;
    enum class data { kept, lost };

    /// `login` says how this object itself speaks to the broker, where that is not in plain text.
    /// @throws std::runtime_error with its log, if it does not answer
    explicit kafka_broker(settings chosen = {}, raw_kafka_settings login = {});
    ~kafka_broker() = default;
    kafka_broker(const kafka_broker&) = delete;
    kafka_broker& operator=(const kafka_broker&) = delete;

    std::uint16_t port() const noexcept { return port_.port(); }
    std::string address() const { return "127.0.0.1:" + std::to_string(port()); }
    pid_t pid() const { return running().pid(); }
    bool runs() const { return process_ && !process_->ended(); }
    /// Differs for every cluster; a broker that has lost its data is another cluster.
    const std::string& cluster_id() const noexcept { return cluster_id_; }
    std::string log() const;

    /// Starts it once more, at the same ports, after its end.
    void start(data contents = data::kept);

    /// Stops it as an administrator does (SIGTERM).
    void stop();
    /// Kills it (SIGKILL). Acknowledged records are in the system's cache, so they stay.
    void kill();
    /// Suspends it (SIGSTOP): it stays connected and does nothing until `resume`.
    void suspend() { running().suspend(); }
    void resume() { running().resume(); }

    /// Creates a topic, which can be written to when this returns. `configs` are the topic's own
    /// settings.
    /// @throws std::runtime_error
    void create_topic(
        const std::string& name, int partitions = 1, const raw_kafka_settings& configs = {}
    );
    void delete_topic(const std::string& name);

private:
    child_program& running() const;
    void format();
    void write_configuration() const;
    bool answers(const raw_kafka& handle) const;
    void await_end();

    raw_kafka administrator() const;

    const settings chosen_;
    const raw_kafka_settings login_;
    const scratch_folder folder_;
    const port_reservation port_;
    const port_reservation controller_port_;
    std::string cluster_id_;
    std::unique_ptr<child_program> process_;
};

/// One broker for all tests of this program that need only topics of their own. It starts when it
/// is first asked for, which must be on the main thread.
kafka_broker& shared_kafka();

/// Another one, for tests that kill and stop it: it runs when this returns.
kafka_broker& killable_kafka();

/// A name that no other call has given: for topics and transactional ids at the shared broker.
std::string fresh_name(const std::string& stem);

}  // namespace mortise::test

#endif
