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

/// A participant somewhere else, called as docs/txn-http.md has it.
///
/// Whatever does not say clearly that the call was done, or refused, is no answer: an error of the
/// connection, or `call_failed`. The coordinator then asks again.
///
/// @par Threads   Any.
/// @par Lifetimes Its calls may outlive it; they fail then. It may outlive its context.
class http_participant final : public participant {
public:
    using executor_type = asio::any_io_executor;

    /// Connects to nobody.
    /// @throws error (`bad_url`, `bad_config`) if the configuration breaks a limit, or a file that
    ///         it names cannot be used.
    http_participant(executor_type executor, http_client_config config);
    ~http_participant() override;

    /// @par Completion   The reply; else `call_failed`, a refusal of the protocol (`late_try`,
    ///                   `unknown_branch`, `conflict`, ...), `access_denied` (our token, or our
    ///                   certificate), `untrusted_server` (its certificate; nothing was sent), or
    ///                   what the connection failed of. It throws the same as a `system_error` if
    ///                   there is more to say, to people.
    /// @par Cancellation terminal, partial, total, all alike: the connection of the call is closed.
    ///                   It is not known then what was done.
    /// @par Cost         A connection that has been used before, if there is one. If that turns
    ///                   out to be dead before a byte of the answer has come, a new one, once. A
    ///                   new one costs a look-up of the host's name, by a thread, and with
    ///                   `https://` a handshake.
    asio::awaitable<result<reply>> carry_out(call what) override;

    /// As many as there may be connections.
    std::size_t calls_at_once() const noexcept override;

private:
    const std::shared_ptr<http::channel> to_;
};

}  // namespace mortise::txn

#endif
