// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_FENCE_SQL_HPP
#define MORTISE_FENCE_SQL_HPP

#include "mortise/db/detail/sql_runner.hpp"
#include "mortise/fencing_token.hpp"
#include "mortise/token_domain.hpp"

#include <boost/asio/awaitable.hpp>

#include <concepts>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace mortise {

namespace detail {
asio::awaitable<void>
raise_fence(db::detail::sql_runner& on, std::string resource, fencing_token held);
asio::awaitable<std::size_t>
forget_fences(db::detail::sql_runner& on, token_domain domain, std::size_t keep, std::size_t limit);
std::vector<std::string> fence_tables(db::sql_dialect dialect);
}  // namespace detail

/// The fence of resources that live in a PostgreSQL, MariaDB or MySQL database of the user's: it
/// remembers, per resource, the highest token that was let in, and refuses lower ones in the
/// transaction that writes. For SQLite there is `sqlite_fence`.
///
/// Use: `raise` as soon as the lock is held and *before the first read*, and commit that. Then read
/// and think, and in the transaction that writes call `admit` and write. Or do all of it in one
/// transaction whose first statement is the raise. Without a raise before the read, a writer that
/// was paused could still write between the read and the write of its successor, whose update would
/// be computed from a value that is no longer there.
///
/// A fence that was raised stays locked until its transaction ends: another raise of the same
/// resource waits for that, as for any row.
///
/// At PostgreSQL under `repeatable_read` or `serializable`, whoever had to wait for another raise
/// fails with a serialization failure (40001), which a closure that may be repeated
/// (`attempts_max`) survives. At MySQL the snapshot of `repeatable_read` begins with the first
/// read, so a raise before it is enough, and one after it is not.
///
/// What is refused is thrown: let it pass out of the closure, which undoes the transaction.
class sql_fence {
public:
    /// Makes the tables `mortise_fence` and `mortise_fence_floor`, if they are not there. No raise
    /// makes them, since that would end the transaction at MySQL.
    template <db::detail::pooled_session Session>
    static asio::awaitable<void> make_tables(Session& session) {
        return db::detail::define_tables(
            session, detail::fence_tables(db::detail::dialect_of<Session>::value)
        );
    }

    /// Raises the fence of `resource` to `held`, in the transaction of the connection.
    ///
    /// @par Errors       throws `error`: `stale_token`, `foreign_domain`, `no_token`,
    ///                   `name_too_long` (1,024 bytes), `bad_config` (the tables are not as
    ///                   `make_tables` makes them); and as `async_query`.
    /// @par Cancellation as `async_query`.
    /// @par Threads      as the connection: the executor of the closure.
    /// @par Lifetimes    `on` must live until it ends. The rest is copied or moved in.
    /// @par Cost         A round trip at PostgreSQL if the resource has a fence; else two to four.
    template <db::detail::closure_connection Connection>
    static asio::awaitable<void> raise(Connection& on, std::string resource, fencing_token held) {
        db::detail::connection_runner<Connection> runner(on);
        auto raising = detail::raise_fence(runner, std::move(resource), held);
        co_await std::move(raising);
    }

    /// Lets a write in if `held` is not below the fence, and raises the fence to it. The write must
    /// be in the same transaction. All else as `raise`.
    template <db::detail::closure_connection Connection>
    static asio::awaitable<void> admit(Connection& on, std::string resource, fencing_token held) {
        return raise(on, std::move(resource), held);
    }

    /// Forgets fences, as `sqlite_fence::forget` does: those with the lowest tokens, until `keep`
    /// are left, at most `limit`; what was forgotten is still fenced, by a floor. Call it first in
    /// a transaction of its own, one that may be repeated: it waits for raises whose transactions
    /// are open, and keeps new resources waiting meanwhile.
    ///
    /// @return how many were forgotten.
    /// @par Errors `foreign_domain`: there are fences of another domain, and none is forgotten;
    ///     `no_token`: the domain is empty.
    /// @par Cost Six statements at most, and a look at all fences.
    template <db::detail::closure_connection Connection>
    static asio::awaitable<std::size_t>
    forget(Connection& on, token_domain domain, std::size_t keep, std::size_t limit) {
        db::detail::connection_runner<Connection> runner(on);
        auto forgetting = detail::forget_fences(runner, domain, keep, limit);
        co_return co_await std::move(forgetting);
    }
};

}  // namespace mortise

#endif
