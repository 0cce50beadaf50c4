// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_TABLE_DURABLE_HPP
#define MORTISE_OUTBOX_SRC_TABLE_DURABLE_HPP

#include "mortise/db/connection.hpp"

namespace mortise::outbox::table {

/// Waits until everything that was committed to the database is on its disk, also what was written
/// by somebody who did not wait for that himself (`synchronous = NORMAL`, in whatever process).
///
/// What is not in the write-ahead log any more was synced when it was copied back.
///
/// In a transaction that has read. @throws error
void make_durable(db::connection& on);

}  // namespace mortise::outbox::table

#endif
