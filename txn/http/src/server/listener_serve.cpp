// SPDX-License-Identifier: BSL-1.0
// Serves one connection.
#include "mortise/coro/detail/with_code.hpp"
#include "mortise/coro/time_source.hpp"
#include "server/listener.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/this_coro.hpp>

#include <array>
#include <chrono>
#include <exception>
#include <string_view>

namespace mortise::txn::http {
namespace {

using coro::detail::with_code;
using phase = connection::phase;

constexpr std::size_t request_bytes = 16u << 10;
constexpr std::size_t drain_bytes_max = 1u << 20;
constexpr std::chrono::seconds drain_max{1};

response fault_answer(fault bad) {
    switch (bad) {
    case fault::header_too_long:
        return response(431, "the header of the request is too long\n");
    case fault::body_too_long:
        return response(413, "the body of the request is too long\n");
    default:
        return response(400, "that is no HTTP/1.1 request\n");
    }
}

}  // namespace

asio::awaitable<void> listener::serve(std::shared_ptr<listener> self, connection_ptr on) {
    if (self->tls_) {
        const bool greeted = co_await self->greet(*on);
        if (!greeted)
            co_return;
    }
    co_await self->converse(*on);
}

// Shakes hands with one client, within a time limit. Other clients do not wait for it.
asio::awaitable<bool> listener::greet(connection& on) {
    limit(on, phase::greeting, config_.handshake_max);
    const auto failed = co_await on.stream.be_greeted(*tls_);
    if (!failed && !on.given_up)
        co_return true;
    if (!stopping_)
        ++count_.handshakes_failed;
    if (failed && !on.given_up)
        co_await drain(on);  // so that the client learns the reason
    co_return false;
}

asio::awaitable<void> listener::converse(connection& on) {
    for (bool goes_on = true; goes_on && !stopping_;) {
        request_reader reader({config_.header_max, config_.body_max});
        limit(on, phase::idle, config_.idle_max);
        fault bad = fault::none;
        const bool complete = co_await read(on, reader, bad);
        if (bad != fault::none)
            co_return co_await refuse(on, fault_answer(bad));
        if (!complete && on.given_up && on.at == phase::reading)
            co_return co_await refuse(on, response(408, "the request came too slowly\n"));
        if (!complete)
            co_return;
        deadlines_.clear(on.timer);
        on.at = phase::answering;
        ++count_.requests;
        const request asked = reader.take();
        response message = co_await answer(asked);
        if (message.status == 401)  // only a failed login has this status
            ++count_.denied;
        goes_on = asked.keep_alive && !stopping_;
        message.keep_alive = goes_on;
        if (!co_await write(on, message))
            co_return;
    }
    co_await on.stream.say_end();
}

/// @return whether the request is complete; else the client has left, was too slow, or is at fault.
asio::awaitable<bool> listener::read(connection& on, request_reader& reader, fault& bad) {
    std::array<char, request_bytes> bytes{};
    bool told_to_go_on = false;
    for (;;) {
        if (!on.arrived.empty() && on.at == phase::idle)
            limit(on, phase::reading, config_.read_max);
        bad = reader.feed(on.arrived);
        if (bad != fault::none)
            co_return false;
        if (reader.done())
            co_return true;
        if (reader.wants_continue() && !std::exchange(told_to_go_on, true)) {
            constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
            if (co_await on.stream.write(asio::buffer(go_on)))
                co_return false;
        }
        if (on.given_up)
            co_return false;
        const auto size = co_await on.stream.read_some(asio::buffer(bytes));
        if (!size)
            co_return false;
        on.arrived.append(bytes.data(), *size);
    }
}

asio::awaitable<response> listener::answer(const request& message) {
    std::exception_ptr thrown;
    try {
        co_return co_await answer_(message);
    } catch (...) {
        thrown = std::current_exception();
    }
    const auto cancelled = co_await asio::this_coro::cancellation_state;
    if (cancelled.cancelled() != asio::cancellation_type::none)
        std::rethrow_exception(thrown);
    co_return response(500, "what was asked for failed\n");
}

asio::awaitable<bool> listener::write(connection& on, const response& message) {
    limit(on, phase::writing, config_.write_max);
    const std::string text = bytes_of(message);
    const auto failed = co_await on.stream.write(asio::buffer(text));
    co_return !failed && !on.given_up;
}

asio::awaitable<void> listener::refuse(connection& on, const response& why) {
    on.given_up = false;
    response message = why;
    message.keep_alive = false;
    if (!co_await write(on, message))
        co_return;
    limit(on, phase::writing, drain_max);
    co_await on.stream.say_end();
    co_await drain(on);
}

// Reads what the client still sends before the socket is closed. A socket that is closed with
// unread bytes takes its last answer back.
asio::awaitable<void> listener::drain(connection& on) {
    limit(on, phase::writing, drain_max);
    auto& socket = on.stream.socket();
    error_code failed;
    socket.shutdown(tcp::socket::shutdown_send, failed);
    std::array<char, request_bytes> bytes{};
    for (std::size_t left = drain_bytes_max; !failed && !on.given_up;) {
        const auto result = co_await socket.async_read_some(asio::buffer(bytes), with_code);
        failed = std::get<0>(result);
        const auto size = std::get<1>(result);
        if (size > left)
            break;
        left -= size;
    }
}

}  // namespace mortise::txn::http
