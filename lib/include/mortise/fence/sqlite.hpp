// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_FENCE_SQLITE_HPP
#define MORTISE_FENCE_SQLITE_HPP

#include "mortise/error.hpp"
#include "mortise/fencing_token.hpp"
#include "mortise/token_domain.hpp"

#include <cstddef>
#include <string_view>

struct sqlite3;

namespace mortise {

/// The fence of resources that live in an SQLite database of the user's: it remembers, per
/// resource, the highest token that was let in, and refuses lower ones in the transaction that
/// writes.
///
/// Use: `raise` as soon as the lock is held and *before the first read*, then read and think, then
/// in the transaction that writes call `admit` and write. Without the raise a writer that was
/// paused could still write between the read and the write of its successor, whose update would be
/// computed from a value that is no longer there: every check passes and the late write is lost.
///
/// The tables `mortise_fence` and `mortise_fence_floor` are made on first use. A call that refuses
/// changes nothing; roll back then.
///
/// @par Threads As the connection: one thread at a time.
/// @par Lifetimes The connection is borrowed for the call.
/// @par Cost One small statement; `raise` outside of a transaction is a transaction of its own.
class sqlite_fence {
public:
    /// Raises the fence of `resource` to `held`, in the transaction that is open or in one of its
    /// own.
    /// @par Errors `stale_token`, `foreign_domain`, `no_token`, and what SQLite says as
    ///     `store_unavailable`, `store_full` or `not_writable`.
    static error_code raise(sqlite3* db, std::string_view resource, const fencing_token& held);

    /// Lets a write in if `held` is not below the fence, and raises the fence to it. The write must
    /// be in the same transaction, which must be open.
    /// @par Errors as `raise`, and `no_transaction`.
    static error_code admit(sqlite3* db, std::string_view resource, const fencing_token& held);

    /// Forgets fences, so that names which are not used any more do not become more and more: those
    /// with the lowest tokens, until `keep` are left, at most `limit`. What was forgotten is still
    /// fenced, by a floor: the highest token of it. A resource without a fence of its own takes no
    /// token below that.
    ///
    /// So nothing is let in that was refused before. But whoever holds a lock since before the last
    /// `keep` others were granted, and has not raised its fence in that time, is refused, too
    /// (`stale_token`): `keep` should be far more than all locks that are held at a time.
    ///
    /// From then on the database takes tokens of that domain only for new names, for of those it is
    /// not known whose they were (`foreign_domain`).
    ///
    /// @return how many were forgotten.
    /// @par Errors `foreign_domain`: there are fences of another domain, and none is forgotten;
    ///     `no_token`: the domain is empty; and what SQLite says, as `raise`.
    /// @par Cost A look at all fences; a transaction of its own unless one is open.
    static result<std::size_t>
    forget(sqlite3* db, const token_domain& domain, std::size_t keep, std::size_t limit);
};

}  // namespace mortise

#endif
