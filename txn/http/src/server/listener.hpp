// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_SERVER_LISTENER_HPP
#define MORTISE_TXN_HTTP_SRC_SERVER_LISTENER_HPP

#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/detail/background_core.hpp"
#include "mortise/coro/detail/deadline_list.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/error.hpp"
#include "mortise/txn/http/http_server_config.hpp"
#include "mortise/txn/http/http_server_stats.hpp"
#include "stream/byte_stream.hpp"
#include "wire/http_message.hpp"
#include "wire/message_reader.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mortise::txn::http {

namespace asio = boost::asio;

/// A client's connection to a server. Used on the server's strand only.
class connection {
public:
    /// The phases of a connection. Each has a time limit of its own, except `answering`.
    enum class phase : std::uint8_t {
        greeting,   ///< The TLS handshake, if there is one.
        idle,       ///< Waiting for the first byte of a request.
        reading,    ///< Reading the rest of the request.
        answering,  ///< The answer is being made.
        writing,    ///< Until the client has taken the answer.
    };

    explicit connection(asio::ip::tcp::socket accepted) : stream(std::move(accepted)) {}

    /// Whether it can be closed to make room: no request is lost by that.
    bool may_make_room() const noexcept {
        return (at == phase::idle || at == phase::greeting) && !given_up;
    }

    /// Ends whatever it waits for at the client.
    void give_up() noexcept {
        given_up = true;
        boost::system::error_code ignored;  // a broken socket waits for nothing
        stream.socket().cancel(ignored);
    }

    byte_stream stream;
    asio::cancellation_signal stop;
    coro::detail::deadline_list::handle timer;
    std::string arrived;
    phase at = phase::idle;
    bool given_up = false;
    std::uint64_t idle_since = 0;  ///< The order in which connections came or became idle.
};

/// Makes the response to a request. The request outlives the coroutine.
using answer_function = std::function<asio::awaitable<response>(const request&)>;

/// Listens, reads requests within their limits, and answers them one after the other on each
/// connection, over TLS if it has a certificate.
///
/// @par Threads   `stop`, `close`, `port`, `stats`: any thread. All else, also the answers, on its
///                strand.
/// @par Lifetimes It may outlive its context.
class listener final : public coro::detail::background_core<listener> {
public:
    /// @throws error if the configuration breaks a limit, or the address cannot be listened on.
    listener(asio::any_io_executor executor, http_server_config config, answer_function answer);
    ~listener() override;

    std::uint16_t port() const noexcept { return port_; }
    /// The URL at which it listens: `http://127.0.0.1:4711`.
    std::string url() const;
    http_server_stats stats() const noexcept;

    /// Stops, and lets the calls under way end.
    void stop(stop_handler done);
    /// Stops, and cancels the calls under way.
    void close() noexcept;

private:
    friend class coro::detail::background_core<listener>;
    using tcp = asio::ip::tcp;
    using connection_ptr = std::shared_ptr<connection>;

    void open();

    // On the strand.
    void start();
    void begin_stop(bool at_once);
    void drop() noexcept;
    void close_acceptor(clock::duration grace);
    void cut_all();
    void tell_stopped();
    static asio::awaitable<void> accept(std::shared_ptr<listener> self);
    asio::awaitable<void> accept_all();
    asio::awaitable<void> wait_for_room();
    connection* longest_idle() const noexcept;
    void take_in(tcp::socket accepted);
    void ended(const connection_ptr& on);
    static asio::awaitable<void> serve(std::shared_ptr<listener> self, connection_ptr on);
    asio::awaitable<bool> greet(connection& on);
    asio::awaitable<void> converse(connection& on);
    asio::awaitable<bool> read(connection& on, request_reader& reader, fault& bad);
    asio::awaitable<response> answer(const request& message);
    asio::awaitable<bool> write(connection& on, const response& message);
    asio::awaitable<void> refuse(connection& on, const response& why);
    asio::awaitable<void> drain(connection& on);
    void limit(connection& on, connection::phase now_in, clock::duration span);
    void arm();
    void due();

    const http_server_config config_;
    std::shared_ptr<coro::time_source> time_;
    const std::shared_ptr<asio::ssl::context> tls_;  ///< Null: no TLS.
    std::optional<tcp::acceptor> acceptor_;
    std::uint16_t port_ = 0;

    // On the strand.
    answer_function answer_;
    bool stopping_ = false;
    bool accepting_ = false;
    asio::cancellation_signal accept_stop_;
    std::optional<coro::event> room_;  ///< Set when a connection has ended.
    std::set<connection_ptr> open_;
    std::uint64_t idle_count_ = 0;
    coro::detail::deadline_list deadlines_;
    coro::detail::deadline_list::handle grace_;
    coro::detail::alarm alarm_;
    clock::time_point armed_for_{};

    struct {
        std::atomic<std::uint64_t> connections{0};
        std::atomic<std::uint64_t> handshakes_failed{0};
        std::atomic<std::uint64_t> requests{0};
        std::atomic<std::uint64_t> denied{0};
    } count_;
};

}  // namespace mortise::txn::http

#endif
