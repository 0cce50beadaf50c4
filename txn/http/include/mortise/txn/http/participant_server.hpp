// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_PARTICIPANT_SERVER_HPP
#define MORTISE_TXN_HTTP_PARTICIPANT_SERVER_HPP

#include "mortise/coro/detail/initiate.hpp"
#include "mortise/txn/http/http_access.hpp"
#include "mortise/txn/http/http_server_config.hpp"
#include "mortise/txn/http/http_server_stats.hpp"
#include "mortise/txn/http/participant_routes.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/deferred.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::txn {

namespace http {
class listener;
void start_stop(coro::detail::completion<void(error_code)> done, std::shared_ptr<listener> server);
}  // namespace http

/// Where a participant server listens, and who may call.
class participant_server_config {
public:
    participant_server_config() = default;  // declared: no aggregate (docs/compilers.md, G3)
    /// No login: serves this host only.
    participant_server_config(http_server_config where) : listen(std::move(where)) {}

    http_server_config listen;
    http_access access;
};

/// Serves participants of this process to coordinators elsewhere, as described in docs/txn-http.md.
/// The participant named `stock` answers to `POST /stock/try`, `/stock/confirm` and
/// `/stock/cancel`. `make_participant` makes a participant of three coroutines; if their state is
/// in SQLite they use a `barrier`.
///
/// Callers show a token (`http_access::callers`), or a certificate
/// (`http_server_config::client_ca_file`), or both. A server that other hosts can reach and that
/// asks for neither is refused, unless `allow_anyone` is set. To use a server of your own, see
/// `participant_routes`.
///
/// @par Threads   All members may be called from any thread. Participants are called on one strand,
///                several calls at a time.
/// @par Lifetimes The destructor closes all connections and cancels the calls under way. To let
///                them end before, await `async_stop`.
class participant_server {
public:
    using executor_type = asio::any_io_executor;
    using participants = participant_map;

    /// Begins to listen.
    /// @throws error if the configuration breaks a limit, a file cannot be used, `access` does not
    ///         say who may call, or the address cannot be listened on.
    participant_server(
        executor_type executor, participant_server_config config, participants served
    );
    ~participant_server();
    participant_server(participant_server&&) noexcept;
    participant_server& operator=(participant_server&&) noexcept;

    executor_type get_executor() const noexcept;
    /// The port on which it listens.
    std::uint16_t port() const noexcept;
    /// The URL of the participant of that name: `http://127.0.0.1:4711/stock`.
    std::string url(std::string_view name) const;
    http_server_stats stats() const noexcept;

    /// Takes no further connections or requests, lets the calls under way end and be answered, for
    /// at most `grace`, and closes everything.
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
