// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_INBOX_HPP
#define MORTISE_OUTBOX_INBOX_HPP

#include "mortise/coro/detail/initiate.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/outbox/error.hpp"
#include "mortise/outbox/inbox_config.hpp"
#include "mortise/outbox/inbox_stats.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/deferred.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::outbox {

namespace detail {

class inbox_core;
using positions = std::map<std::string, std::int64_t>;

void start_receive(
    coro::detail::completion<void(error_code)> handler,
    std::shared_ptr<inbox_core> core,
    std::vector<received> messages
);
void start_positions(
    coro::detail::completion<void(error_code, positions)> handler, std::shared_ptr<inbox_core> core
);
void start_identity(
    coro::detail::completion<void(error_code, std::string)> handler,
    std::shared_ptr<inbox_core> core
);
void start_stop_inbox(
    coro::detail::completion<void(error_code)> handler, std::shared_ptr<inbox_core> core
);

}  // namespace detail

/// Lets messages have their effect exactly once, however often they come: a handler's effect and
/// the memory of the message are in one transaction of the user's own database.
///
/// A handler that fails is called again after a while, and what has the same topic and key waits
/// behind it, while all else goes on. In the end the message is parked, for people to see. What is
/// held so is in the database: whoever delivers need not deliver it again.
///
/// @par Threads   All members: any.
/// @par Lifetimes What the handler refers to lives until `async_stop` is complete, or the session
///                is gone. The inbox itself may be destroyed at any time: what was not answered was
///                handled as a whole, or not at all. With nothing to try again it does not keep
///                the context of its executor at work, and it ends with that, too.
class inbox {
public:
    using executor_type = asio::any_io_executor;

    /// @param session with the database that the handler's effects are in
    /// @throws error if the configuration breaks a limit.
    inbox(executor_type executor, std::shared_ptr<db::sqlite> session, inbox_config config);
    ~inbox();
    inbox(inbox&&) noexcept;
    inbox& operator=(inbox&&) noexcept;

    executor_type get_executor() const noexcept;
    /// By what it knows a message again.
    inbox_config::kind by() const noexcept;

    /// Deals with these messages, in their order: each of them is handled, known already, or held
    /// in the database for later. Then it need not be delivered again.
    ///
    /// They share transactions, and the failure of one undoes nothing of another. A transaction
    /// takes no further message after 20 ms, so that others who write get their turn, and is
    /// followed by the next; each remembers what it has handled. If a handler ends its transaction,
    /// or tries to, it takes more of them, until its message alone is held. By offsets what comes
    /// of a source is delivered one call after the other.
    ///
    /// @par Completion   `void(error_code)`, when it is on the disk.
    /// @par Errors       `bad_message_id`: one has no id, or no place, and nothing was done;
    ///                   `stopped`; what the session says: nothing was done, or a first
    ///                   part, or, with `commit_unknown`, perhaps all of it. Deliver all of them
    ///                   again.
    /// @par Cancellation terminal, partial, total, all alike: while queued, nothing is done.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
    /// @par Lifetimes    `messages` are moved in.
    /// @par Cost         One closure of the session for each transaction; for each message a
    ///                   savepoint and, by ids, one row.
    template <class Token = asio::deferred_t>
    auto async_receive(std::vector<received> messages, Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code)>(
            get_executor(),
            std::forward<Token>(token),
            &detail::start_receive,
            core_,
            std::move(messages)
        );
    }

    /// By source, the offset from which on nothing is known: where to begin to deliver.
    ///
    /// @par Completion   `void(error_code, std::map<std::string, std::int64_t>)`.
    /// @par Errors       `stopped`, and what the session says.
    /// @par Cancellation as `async_receive`.
    /// @par Threads      as `async_receive`.
    template <class Token = asio::deferred_t>
    auto async_positions(Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code, detail::positions)>(
            get_executor(), std::forward<Token>(token), &detail::start_positions, core_
        );
    }

    /// Which inbox this is, of all: the random id of the tables, which are made if they are not
    /// there, and its name. Whoever delivers can tell by it that another database has taken part.
    /// A copy of the database has the same.
    ///
    /// @par Completion   `void(error_code, std::string)`.
    /// @par Errors       `stopped`, and what the session says.
    /// @par Cancellation as `async_receive`.
    /// @par Threads      as `async_receive`.
    template <class Token = asio::deferred_t>
    auto async_identity(Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code, std::string)>(
            get_executor(), std::forward<Token>(token), &detail::start_identity, core_
        );
    }

    /// Takes no more messages. When it is complete the handler is not called any more.
    ///
    /// @par Completion   `void(error_code)`.
    /// @par Cancellation ignored.
    /// @par Threads      as `async_receive`.
    template <class Token = asio::deferred_t>
    auto async_stop(Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code)>(
            get_executor(), std::forward<Token>(token), &detail::start_stop_inbox, core_
        );
    }

    inbox_stats stats() const noexcept;

private:
    std::shared_ptr<detail::inbox_core> core_;
};

}  // namespace mortise::outbox

#endif
