// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_CLIENT_CHANNEL_HPP
#define MORTISE_TXN_HTTP_SRC_CLIENT_CHANNEL_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/completion.hpp"
#include "mortise/coro/detail/initiate.hpp"
#include "mortise/coro/detail/strand_seat.hpp"
#include "mortise/coro/detail/wait_list.hpp"
#include "mortise/coro/detail/wait_service.hpp"
#include "mortise/error.hpp"
#include "mortise/txn/http/http_client_config.hpp"
#include "wire/base_url.hpp"
#include "wire/http_message.hpp"
#include "wire/login.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace boost::asio::ssl {
class context;
}

namespace mortise::txn::http {

namespace asio = boost::asio;
class host_look_up;

/// Exchanges requests for responses with one peer, over connections that are kept.
///
/// @par Threads   `exchange`, `close`: any thread. All else happens on its strand.
/// @par Lifetimes Exchanges keep it alive. It may outlive its context.
class channel final : public std::enable_shared_from_this<channel>,
                      public coro::detail::shutdown_hook {
public:
    using completion = coro::detail::completion<void(error_code, response)>;

    /// @throws error (`bad_url`, `bad_config`).
    channel(asio::any_io_executor executor, http_client_config config);
    ~channel() override;
    /// Registers for the end of the context. Call it once, after construction.
    void attach();

    const base_url& at() const noexcept { return at_; }
    std::size_t connections_max() const noexcept { return config_.connections_max; }
    const asio::any_io_executor& get_executor() const noexcept { return seat_.executor(); }

    /// Removes our configured secrets from a text.
    std::string without_secrets(std::string text) const {
        return extra_.without_values(std::move(text));
    }

    /// Sends one request and waits for the response. A signal closes the connection. With an error,
    /// the body of the response is a text for people, or empty.
    template <class Token = asio::deferred_t>
    auto async_exchange(request message, Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code, response)>(
            seat_.executor(),
            std::forward<Token>(token),
            [](completion done, const std::shared_ptr<channel>& self, request asked) {
                self->exchange(std::move(asked), std::move(done));
            },
            shared_from_this(),
            std::move(message)
        );
    }

    /// Makes all later exchanges fail, and cancels those under way.
    void close() noexcept;

private:
    class operation;
    class slot;
    struct connection;
    using connection_ptr = std::unique_ptr<connection>;
    using tcp = asio::ip::tcp;

    void shut_down() noexcept override;
    void exchange(request message, completion done);

    // On the strand.
    void start(std::shared_ptr<operation> doing, request message);
    static asio::awaitable<void>
    run(std::shared_ptr<channel> self, std::shared_ptr<operation> doing, request message);
    asio::awaitable<response> carry(const request& message, std::string& why);
    asio::awaitable<void> take_slot();
    void give_slot_back() noexcept;
    asio::awaitable<connection_ptr> connect(std::string& why);
    asio::awaitable<error_code> reach(connection& on, tcp::endpoint place, std::string& why);
    asio::awaitable<result<response>> converse(connection& on, const std::string& text);
    asio::awaitable<error_code> read(connection& on, response& into);
    connection_ptr take_idle();
    void keep(connection_ptr on);
    void drop_expired();
    clock::time_point now() const noexcept;

    coro::detail::strand_seat seat_;
    const http_client_config config_;
    const base_url at_;
    const std::shared_ptr<host_look_up> addresses_;
    const extra_fields extra_;
    const std::shared_ptr<asio::ssl::context> tls_;  ///< Null: no TLS.

    // On the strand.
    bool closed_ = false;
    std::size_t used_ = 0;  ///< Slots in use.
    coro::detail::wait_list<> slot_waiters_;
    std::vector<connection_ptr> idle_;  ///< The most recently used one is last.
    std::vector<std::weak_ptr<operation>> under_way_;
};

}  // namespace mortise::txn::http

#endif
