// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_KAFKA_PROXY_HPP
#define MORTISE_TESTS_SUPPORT_KAFKA_PROXY_HPP

#include "support/port_reservation.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace mortise::test {

namespace asio = boost::asio;

/// Stands between clients and a Kafka broker, which has to name it as its address. It passes
/// everything on, but can keep a request by which a client ends a transaction, as a slow network
/// may: the client loses its connection and asks once more by another one, and the kept request
/// comes later.
///
/// @par Threads It has one of its own. The members: one at a time.
class kafka_proxy {
public:
    /// Passes on to that port of 127.0.0.1. @throws boost::system::system_error
    explicit kafka_proxy(std::uint16_t broker_port);
    ~kafka_proxy();
    kafka_proxy(const kafka_proxy&) = delete;
    kafka_proxy& operator=(const kafka_proxy&) = delete;

    /// A port of 127.0.0.1.
    std::uint16_t port() const noexcept { return port_.port(); }

    /// Ends all connections; their clients may connect again.
    void cut_all();

    /// Keeps the next request that ends a transaction. @return ready when it is kept
    std::future<void> keep_next_end();

    /// Gives the kept request to the broker. @return Kafka's error code in the answer: 0 if it was
    /// obeyed.
    std::int16_t deliver();

private:
    using socket = asio::ip::tcp::socket;
    struct link;

    asio::awaitable<void> accept();
    asio::awaitable<void> serve(socket client);
    asio::awaitable<void> pass_requests(std::shared_ptr<link> on);
    static asio::awaitable<void> pass_answers(std::shared_ptr<link> on);
    asio::awaitable<std::int16_t> ask();

    asio::io_context context_{1};
    const asio::ip::tcp::endpoint broker_;
    const port_reservation port_;
    asio::ip::tcp::acceptor acceptor_;
    std::optional<std::promise<void>> wanted_;
    std::vector<std::weak_ptr<link>> links_;
    std::shared_ptr<link> kept_by_;  ///< Its half to the broker is still open.
    std::string kept_;
    std::thread thread_;
};

}  // namespace mortise::test

#endif
