// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_ZOOKEEPER_SERVER_PROBE_HPP
#define MORTISE_STORE_ZOOKEEPER_SERVER_PROBE_HPP

#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/error.hpp"
#include "mortise/store/zookeeper.hpp"
#include "store/zookeeper/ensemble_facts.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace mortise::store_detail {

namespace asio = boost::asio;

/// Asks one server of an ensemble, on connections of its own: what it is, which settings it has,
/// and which sessions it grants. It leaves no session behind, unless the server is lost meanwhile.
///
/// @par Threads The strand.
class server_probe : public std::enable_shared_from_this<server_probe> {
public:
    server_probe(
        asio::any_io_executor strand,
        std::shared_ptr<coro::time_source> time,
        zookeeper_address server
    );

    /// Once.
    /// @param limit for all questions together
    asio::awaitable<server_report> ask(std::chrono::milliseconds limit);

private:
    using tcp = asio::ip::tcp;

    asio::awaitable<error_code> look_up();
    asio::awaitable<error_code> connect();
    asio::awaitable<result<std::string>> ask_word(std::string word);
    asio::awaitable<result<std::chrono::milliseconds>> ask_session(std::chrono::milliseconds wish);
    std::string text_of(const error_code& failed) const;
    void stop();

    const asio::any_io_executor strand_;
    const std::shared_ptr<coro::time_source> time_;
    const zookeeper_address server_;
    tcp::resolver resolver_;
    tcp::resolver::results_type places_;
    tcp::socket socket_;
    coro::detail::alarm due_;
    bool late_ = false;
};

/// Asks one server by a `server_probe`.
asio::awaitable<server_report> probe_server(
    asio::any_io_executor strand,
    std::shared_ptr<coro::time_source> time,
    zookeeper_address server,
    std::chrono::milliseconds limit
);

}  // namespace mortise::store_detail

#endif
