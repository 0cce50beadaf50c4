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

/// Gives each message its effect exactly once, however often it is delivered. The effect of the
/// handler and the record of the message are committed in one transaction of the user's own
/// database.
///
/// A message whose handler fails is tried again later. Later messages with the same topic and key
/// wait behind it; all others go on. After the last attempt the message is parked for an operator.
/// The inbox keeps these messages in the database, so the deliverer need not deliver them again.
///
/// @par Threads   All members: any.
/// @par Lifetimes What the handler refers to must live until `async_stop` is complete, or the
///                session is destroyed. The inbox may be destroyed at any time: each unanswered
///                message was handled completely, or not at all. An inbox with nothing to try again
///                does not keep the context of its executor at work, and ends with that context.
class inbox {
public:
    using executor_type = asio::any_io_executor;

    /// @param session The database that the effects of the handler go to.
    /// @throws error if the configuration breaks a limit.
    inbox(executor_type executor, std::shared_ptr<db::sqlite> session, inbox_config config);
    ~inbox();
    inbox(inbox&&) noexcept;
    inbox& operator=(inbox&&) noexcept;

    executor_type get_executor() const noexcept;
    /// How the inbox recognises a message that it already knows.
    inbox_config::kind by() const noexcept;

    /// Deals with these messages in order: each one is handled, recognised as known, or held in the
    /// database for later. None of them need be delivered again.
    ///
    /// The messages share transactions, and the failure of one undoes nothing of another. A
    /// transaction takes no further message after 20 ms, for other writers to get their turn;
    /// another transaction follows. Each transaction records which messages it has handled. If a
    /// handler ends the transaction, or tries to, the inbox uses further transactions until only
    /// the message of that handler is held. By offsets, the calls for one source run one after the
    /// other.
    ///
    /// @par Completion   `void(error_code)`, when the result is on the disk.
    /// @par Errors       `bad_message_id`, `no_position`: a message has no id, or no place, and
    ///                   nothing was done; `stopped`; the errors of the session: nothing was done,
    ///                   or a first part, or, with `commit_unknown`, perhaps all of it. Deliver all
    ///                   messages again.
    /// @par Cancellation terminal, partial, total; all mean the same: while the call is queued,
    ///                   nothing is done.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
    /// @par Lifetimes    `messages` are moved in.
    /// @par Cost         One closure of the session for each transaction; for each message one
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

    /// Reads, for each source, the first offset that is not yet known: where to begin to deliver.
    ///
    /// @par Completion   `void(error_code, std::map<std::string, std::int64_t>)`.
    /// @par Errors       `stopped`, and the errors of the session.
    /// @par Cancellation as `async_receive`.
    /// @par Threads      as `async_receive`.
    template <class Token = asio::deferred_t>
    auto async_positions(Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code, detail::positions)>(
            get_executor(), std::forward<Token>(token), &detail::start_positions, core_
        );
    }

    /// Reads the identity of this inbox: the random id of its tables, and its name. Creates the
    /// tables if they are missing. A deliverer compares it to notice that another database has
    /// taken part. A copy of the database has the same identity.
    ///
    /// @par Completion   `void(error_code, std::string)`.
    /// @par Errors       `stopped`, and the errors of the session.
    /// @par Cancellation as `async_receive`.
    /// @par Threads      as `async_receive`.
    template <class Token = asio::deferred_t>
    auto async_identity(Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code, std::string)>(
            get_executor(), std::forward<Token>(token), &detail::start_identity, core_
        );
    }

    /// Stops taking messages. Once it is complete, the handler is not called again.
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
