// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_FENCE_SQLITE_HPP
#define MORTISE_FENCE_SQLITE_HPP

#include "mortise/error.hpp"
#include "mortise/fencing_token.hpp"

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
/// The table `mortise_fence` is made on first use. A call that refuses changes nothing; roll back
/// then.
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
};

}  // namespace mortise

#endif
