// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_PARTICIPANT_SERVER_HPP
#define MORTISE_TXN_HTTP_PARTICIPANT_SERVER_HPP

#include "mortise/coro/detail/initiate.hpp"
#include "mortise/txn/http/http_server_config.hpp"
#include "mortise/txn/participant.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/deferred.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::txn {

namespace http {
class listener;
void start_stop(coro::detail::completion<void(error_code)> done, std::shared_ptr<listener> which);
}  // namespace http

/// Serves participants of this process to coordinators elsewhere, as docs/txn-http.md has it: the
/// one with the name `stock` answers to `POST /stock/try`, `/stock/confirm` and `/stock/cancel`.
/// Three coroutines become a participant by `make_participant`; if their state is in SQLite they
/// use a `barrier`.
///
/// There is no login: whoever can connect can call. Let it listen where only coordinators reach it.
///
/// @par Threads   All members: any. Participants are called on one strand, several calls at a time.
/// @par Lifetimes The destructor closes all connections and cancels the calls under way; to have
///                them end before, await `async_stop`.
class participant_server {
public:
    using executor_type = asio::any_io_executor;
    using participants = std::map<std::string, std::shared_ptr<participant>, std::less<>>;

    /// Listens from here on.
    /// @throws error if the configuration breaks a limit, or the address cannot be listened on.
    participant_server(executor_type executor, http_server_config config, participants served);
    ~participant_server();
    participant_server(participant_server&&) noexcept;
    participant_server& operator=(participant_server&&) noexcept;

    executor_type get_executor() const noexcept;
    /// On which it listens.
    std::uint16_t port() const noexcept;
    /// Where coordinators find the participant of that name: `http://127.0.0.1:4711/stock`.
    std::string url(std::string_view name) const;

    /// Takes no more connections and no more requests, lets the calls under way end and be
    /// answered, for `grace` at most, and closes everything.
    ///
    /// @par Completion   `void(error_code)`.
    /// @par Cancellation ignored.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
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
