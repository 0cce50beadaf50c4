// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_HTTP_PARTICIPANT_HPP
#define MORTISE_TXN_HTTP_HTTP_PARTICIPANT_HPP

#include "mortise/txn/http/http_client_config.hpp"
#include "mortise/txn/participant.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <memory>

namespace mortise::txn {

namespace http {
class channel;
}

/// A participant in another process, called over HTTP as described in docs/txn-http.md.
///
/// Any answer that does not clearly say "done" or "refused" counts as no answer: an error of the
/// connection, or `call_failed`. The coordinator then asks again.
///
/// @par Threads   Any thread.
/// @par Lifetimes Its calls may outlive it; they fail then. It may outlive its context.
class http_participant final : public participant {
public:
    using executor_type = asio::any_io_executor;

    /// Reads the configuration; connections are made when needed.
    /// @throws error (`bad_url`, `bad_config`) if the configuration breaks a limit, or a file that
    ///         it names cannot be used.
    http_participant(executor_type executor, http_client_config config);
    ~http_participant() override;

    /// Sends one call and waits for its answer.
    ///
    /// @par Completion   The reply; else `call_failed`, a refusal of the protocol (`late_try`,
    ///                   `unknown_branch`, `conflict`, ...), `access_denied` (our token, or our
    ///                   certificate), `untrusted_server` (its certificate; nothing was sent), or
    ///                   the error of the connection. If there is more to tell people, it throws a
    ///                   `system_error` with the same code instead.
    /// @par Cancellation terminal, partial, total; all mean the same: the connection of the call is
    ///                   closed. The effect of the call is then unknown.
    /// @par Cost         Reuses a connection if there is one. If it turns out to be dead before a
    ///                   byte of the answer has come, the call is sent on a new one, once. A new
    ///                   one costs a look-up of the host's name, by a thread, and with `https://` a
    ///                   handshake.
    asio::awaitable<result<reply>> carry_out(call call) override;

    /// The limit of connections.
    std::size_t calls_at_once() const noexcept override;

private:
    const std::shared_ptr<http::channel> to_;
};

}  // namespace mortise::txn

#endif
