// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_CONTROL_SERVER_HPP
#define MORTISE_TXN_HTTP_CONTROL_SERVER_HPP

#include "mortise/coro/detail/initiate.hpp"
#include "mortise/error.hpp"
#include "mortise/txn/http/http_server_config.hpp"
#include "mortise/txn/http/http_server_stats.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/deferred.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

namespace mortise::txn {

namespace asio = boost::asio;
class coordinator;

namespace http {
class listener;
void start_stop(coro::detail::completion<void(error_code)> done, std::shared_ptr<listener> server);
}  // namespace http

/// Where a control server listens, and who may use it.
class control_server_config {
public:
    control_server_config() = default;  // declared: no aggregate (docs/compilers.md, G3)

    /// Without TLS the token travels in plain text.
    http_server_config listen;

    /// The token that clients must send (`Authorization: Bearer TOKEN`): 16 to 1,024 visible
    /// characters.
    std::string token;
    /// Instead of `token`: a file whose only line is the token. It is read once.
    std::filesystem::path token_file;

    /// The longest wait of a client that wants a transaction settled: 200 ms to one hour.
    std::chrono::milliseconds settle_max{5'000};
};

/// Answers questions and takes orders to a coordinator over HTTP, as described in docs/txn-http.md:
/// for the sweepers of participants elsewhere, for operators and their programs.
///
/// @par Threads   All members may be called from any thread.
/// @par Lifetimes The coordinator must live until `async_stop` has completed, or until the context
///                has ended.
class control_server {
public:
    using executor_type = asio::any_io_executor;

    /// Begins to listen.
    /// @throws error if the configuration breaks a limit, a file cannot be used, or the address
    ///         cannot be listened on.
    control_server(executor_type executor, control_server_config config, coordinator& of);
    ~control_server();
    control_server(control_server&&) noexcept;
    control_server& operator=(control_server&&) noexcept;

    executor_type get_executor() const noexcept;
    /// The port on which it listens.
    std::uint16_t port() const noexcept;
    /// The URL for sweepers: `http://127.0.0.1:4712`.
    std::string url() const;
    http_server_stats stats() const noexcept;

    /// Takes no further requests, lets those under way be answered, for at most `grace`, and closes
    /// everything.
    ///
    /// @par Completion   `void(error_code)`.
    /// @par Cancellation ignored.
    /// @par Threads      Any thread. Completes by post to the handler's executor, never from
    ///                   inside.
    template <class Token = asio::deferred_t>
    auto async_stop(Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code)>(
            get_executor(), std::forward<Token>(token), &http::start_stop, listener_
        );
    }

private:
    std::shared_ptr<http::listener> listener_;
};

}  // namespace mortise::txn

#endif
