// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_REDIS_PROXY_HPP
#define MORTISE_TESTS_SUPPORT_REDIS_PROXY_HPP

#include "mortise/coro/time_source.hpp"
#include "support/proxied_message.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace mortise::test {

class proxy_core;

/// Stands between clients and a Redis server, understands what they say to each other, and loses,
/// delays or repeats what it is told to. Clients speak RESP3, without TLS.
///
///     redis_proxy proxy(context.get_executor(), server.port());
///     proxy.at(kind::command, 3, proxy_deed::of(proxy_deed::kind::cut_answer));
///
/// It holds work on the executor while it lives.
///
/// @par Threads That of the executor, or one at a time while it does not run. See proxy_thread.
class redis_proxy {
public:
    using kind = proxied_message::kind;

    /// @throws boost::system::system_error if it cannot listen
    redis_proxy(
        asio::any_io_executor executor,
        std::uint16_t server_port,
        std::shared_ptr<coro::time_source> time = nullptr  ///< For delays; null: the real time.
    );
    /// Ends all connections.
    ~redis_proxy();
    redis_proxy(const redis_proxy&) = delete;
    redis_proxy& operator=(const redis_proxy&) = delete;

    /// A port of 127.0.0.1.
    std::uint16_t port() const noexcept;

    /// Says what is done to the n-th message of its kind from now on, over all connections; 1 is
    /// the next.
    void at(kind type, std::uint64_t nth, proxy_deed deed);
    /// How many deeds ordered by `at` have not been done.
    std::size_t pending() const noexcept;
    /// Takes those back. @return how many there were
    std::size_t take_back() noexcept;

    /// Sets who is asked about each message for which `at` has no order.
    void decide(std::function<proxy_deed(const proxied_message&)> judge);

    /// The number of messages that came by, including those that were lost or changed.
    std::uint64_t count(kind type) const noexcept;
    /// The same of one connection. @throws std::out_of_range
    std::uint64_t count(kind type, std::uint64_t connection) const;
    /// How many connections were ever made, and how many are open now.
    std::uint64_t connections() const noexcept;
    std::size_t open_connections() const noexcept;

    enum class way : std::uint8_t { to_server, to_client };
    /// Holds this way of every connection, old or new, until it is let through again; the
    /// connections stay open at both ends, even if the sender ends.
    void hold(way direction);
    void let_through(way direction);

    /// Lets nobody connect until it is allowed again. @throws boost::system::system_error
    void refuse_connections();
    void allow_connections();

    /// Ends all connections, now.
    void cut_all();
    /// Whether a connection that is cut is reset (RST) or ended (FIN, as at first).
    void cut_by_reset(bool reset) noexcept;

private:
    std::shared_ptr<proxy_core> core_;
};

}  // namespace mortise::test

#endif
