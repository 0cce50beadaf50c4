// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_OPERATE_HPP
#define MORTISE_OUTBOX_OPERATE_HPP

#include "mortise/db/connection.hpp"
#include "mortise/outbox/table_view.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

/// What operators can see of a message table, and do with it.
///
/// @par Errors  All functions throw `error`: `not_an_outbox`, `newer_format`, `older_format`, the
///              codes named below, and the errors of SQLite.
/// @par Threads As for the connection: one at a time.
namespace mortise::outbox {

/// Describes the table as a whole.
/// @par Cost Counts the waiting rows.
table_view describe(db::connection& on);

/// Lists rows of a kind with numbers above `after`, in the order of the numbers, at most `limit`.
std::vector<row_view>
list(db::connection& on, row_kind kind, std::int64_t after, std::size_t limit);

/// Finds a row among the waiting ones, then among the parked ones.
std::optional<row_view> find(db::connection& on, std::int64_t row);

/// Finds the messages with that id that are not yet due; several may have the same id.
std::vector<row_view> find_later(db::connection& on, std::string_view id);

// The functions below need an open transaction. Relays hear of the change after the commit: at once
// from a closure of `db::sqlite`, else by `ring`.

/// Sends a parked message again, after its cause was removed, and then what waits behind it in the
/// order in which it was written.
/// @return how many messages will be sent again.
/// @par Errors `no_such_row`.
std::size_t replay(db::connection& on, std::int64_t row);

/// The same, but changes the parked message first: topic, key, payload and headers are those of
/// `edited`, and so is the id, unless it is empty. The messages that wait behind it stay as they
/// are.
/// @par Errors `no_such_row`, and the errors of `append` for a message that cannot be a row.
std::size_t replay(db::connection& on, std::int64_t row, const message& edited);

/// The same for all parked messages.
/// @par Cost Other writers wait. With very many messages, repeat `replay_some` instead.
std::size_t replay_all(db::connection& on);

/// The same for the `limit` messages that were parked first, and for all other parked messages of
/// their keys, which keep their order. Use one transaction for each portion to give other writers
/// their turn.
/// @return how many messages will be sent again; zero: nothing is parked.
std::size_t replay_some(db::connection& on, std::size_t limit);

/// Gives up a parked message for ever; what waits behind it is sent.
/// @return how many messages will be sent now.
/// @par Errors `no_such_row`.
std::size_t drop(db::connection& on, std::int64_t row);

/// Gives up a waiting message: the relay passes over it. A message that a relay has already read is
/// sent all the same; to be sure, stop the relays first. The row stays, without its content, until
/// all rows before it are sent, because the mark at the sink may name it.
/// @par Errors `no_such_row`; also if the row is at or before the mark of its shard, and so was
///             sent.
void discard(db::connection& on, std::int64_t row);

/// Takes back the messages with that id that are not yet due; none of them is ever sent. The id may
/// be used again (`append_options::unique_for`).
/// @return how many; zero: there is none, or it was too late.
std::size_t cancel(db::connection& on, std::string_view id);

/// Changes when the messages with that id become due, if they are not yet due. A time in the past
/// makes them due at once.
/// @return how many; zero: there is none, or it was too late.
std::size_t
reschedule(db::connection& on, std::string_view id, std::chrono::system_clock::time_point due);

/// Where a refused shard goes on: a shard whose sink and table contradict each other.
class position {
public:
    /// After that row: it counts as sent, like all rows before it.
    static constexpr position after(std::int64_t row) noexcept {
        return position(row < 0 ? 0 : row);
    }
    /// At the beginning: everything in the table is sent again.
    static constexpr position beginning() noexcept { return position(0); }
    /// At the end: only what is appended from now on is sent.
    static constexpr position end() noexcept { return position(-1); }

    /// The row after which the shard goes on; -1 stands for the last row.
    constexpr std::int64_t row() const noexcept { return row_; }

private:
    constexpr explicit position(std::int64_t row) noexcept : row_(row) {}
    std::int64_t row_;
};

/// Decides where a refused shard goes on. Nothing checks the decision: unsent messages before the
/// position are lost, messages after it that were already sent come twice.
/// @par Errors `nothing_refused`; `no_such_row`: the shard does not exist, or no row has had that
///             number yet, and the rows up to it would be skipped.
void rebase(db::connection& on, std::uint32_t shard, position where);

/// Changes the number of shards: 1 to 256. Everything appended before is sent first, for messages
/// with the same key to keep their order.
/// @par Errors `bad_shards`.
void reshard(db::connection& on, std::uint32_t shards);

}  // namespace mortise::outbox

#endif
