// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_ZOOKEEPER_RELAYS_HPP
#define MORTISE_TESTS_UNIT_ZOOKEEPER_RELAYS_HPP

#include "support/run_on.hpp"
#include "support/tcp_relay.hpp"
#include "support/zookeeper_server.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>

namespace mortise::test {

/// Relays between the members of an ensemble, or between clients and members, on a thread of their
/// own.
///
/// @par Threads Any.
class relays {
public:
    relays() : thread_([this] { context_.run(); }) {}
    ~relays();
    relays(const relays&) = delete;
    relays& operator=(const relays&) = delete;

    /// Makes the relay by which one reaches the port of another. @return its port
    std::uint16_t between(std::size_t from, std::size_t to, std::uint16_t port) {
        return run([&] {
            auto& relay = relays_[std::pair(from, to)];
            relay = std::make_unique<tcp_relay>(context_.get_executor(), port);
            return relay->port();
        });
    }

    /// Calls `call` with that relay, on the thread of all relays. @return its result
    template <class Call>
    auto with(std::size_t from, std::size_t to, Call call) {
        return run([&] { return call(*relays_.at(std::pair(from, to))); });
    }

    /// Holds what goes from one to the other, or back, or lets it through again.
    void hold(std::size_t from, std::size_t to, tcp_relay::way direction, bool held) {
        with(from, to, [&](tcp_relay& relay) { relay.hold(direction, held); });
    }

private:
    template <class Call>
    std::invoke_result_t<Call&> run(Call call) {
        return run_on(context_, std::move(call));
    }

    asio::io_context context_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
    std::map<std::pair<std::size_t, std::size_t>, std::unique_ptr<tcp_relay>> relays_;
    std::thread thread_;
};

inline relays::~relays() {
    run([this] { relays_.clear(); });
    work_.reset();
    thread_.join();
}

/// Three servers, each of which follows another by a relay. The follower waits for its leader, and
/// the leader for it, for thirty seconds.
struct relayed_servers {
    relays between;
    zookeeper_ensemble servers{
        3, {"syncLimit=300"}, [this](std::size_t from, std::size_t to, std::uint16_t port) {
            return between.between(from, to, port);
        }};
};

/// Those that all tests of this program share; all of them serve between tests.
inline relayed_servers& shared_relayed_servers() {
    static relayed_servers only;
    return only;
}

}  // namespace mortise::test

#endif
