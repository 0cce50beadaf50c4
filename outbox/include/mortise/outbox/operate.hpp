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

/// What people see of a message table, and can do with it.
///
/// @par Errors  All throw `error`: `not_an_outbox`, `newer_format`, `older_format`, what is said
///              below, and what SQLite says.
/// @par Threads As the connection: one at a time.
namespace mortise::outbox {

/// The table as a whole.
/// @par Cost It counts the rows that are waiting.
table_view describe(db::connection& on);

/// The rows of that kind after that one, in the order of their numbers, at most `limit`.
std::vector<row_view>
list(db::connection& on, row_kind which, std::int64_t after, std::size_t limit);

/// One row; of the waiting ones, else of those that are parked.
std::optional<row_view> find(db::connection& on, std::int64_t row);

/// The messages with that id that are not due yet; several may have been given the same.
std::vector<row_view> find_later(db::connection& on, std::string_view id);

// In a transaction that is open; relays hear of it when it is committed, in a closure of
// `db::sqlite`, else by `ring`.

/// Sends a parked message again, after its cause was mended, and what waits behind it in the order
/// in which it was written.
/// @return how many messages are to be sent again.
/// @par Errors `no_such_row`.
std::size_t replay(db::connection& on, std::int64_t row);

/// The same, with the parked message changed before: topic, key, payload and headers are those of
/// `edited`, and its id, if it has one. What waits behind it stays as it is.
/// @par Errors `no_such_row`, and what `append` says of a message that cannot be a row.
std::size_t replay(db::connection& on, std::int64_t row, const message& edited);

/// The same for all that is parked.
/// @par Cost Others who write wait: with very many messages, repeat `replay_some`.
std::size_t replay_all(db::connection& on);

/// The same for `limit` of the messages that were parked first, and for the rest of their keys,
/// which keep their order. With a transaction for each portion others who write get their turn.
/// @return how many messages are to be sent again; zero: nothing is parked.
std::size_t replay_some(db::connection& on, std::size_t limit);

/// Gives a parked message up for ever; what waits behind it is sent.
/// @return how many messages are to be sent now.
/// @par Errors `no_such_row`.
std::size_t drop(db::connection& on, std::int64_t row);

/// Gives a message up that waits to be sent: the relay passes over it. One that a relay has read
/// already is sent all the same; to be sure, stop the relays before. Its row stays, without what it
/// held, until all before it is sent: the mark at the sink may name it.
/// @par Errors `no_such_row`; also if it is before the mark of its shard, and was sent.
void discard(db::connection& on, std::int64_t row);

/// Takes messages with that id back that are not due yet; none of them is ever sent. The id may be
/// used again (`append_options::unique_for`).
/// @return how many; zero: there is none, or it was too late.
std::size_t cancel(db::connection& on, std::string_view id);

/// Messages with that id that are not due yet become due at that time instead, at once if it has
/// passed.
/// @return how many; zero: there is none, or it was too late.
std::size_t
reschedule(db::connection& on, std::string_view id, std::chrono::system_clock::time_point due);

/// Where a shard goes on whose sink and table contradict each other.
class position {
public:
    /// After that row: it counts as sent, as do all before it.
    static constexpr position after(std::int64_t row) noexcept {
        return position(row < 0 ? 0 : row);
    }
    /// Everything that is in the table is sent again.
    static constexpr position beginning() noexcept { return position(0); }
    /// Only what is appended from now on.
    static constexpr position end() noexcept { return position(-1); }

    /// -1: the last row.
    constexpr std::int64_t row() const noexcept { return row_; }

private:
    constexpr explicit position(std::int64_t row) noexcept : row_(row) {}
    std::int64_t row_;
};

/// Decides where a shard that a relay has refused goes on. Nothing checks whether that is right:
/// what is before the position and was not sent is lost, what is after it and was sent comes twice.
/// @par Errors `nothing_refused`; `no_such_row`: there is no such shard, or no row has had that
///             number yet, and what comes would be skipped.
void rebase(db::connection& on, std::uint32_t shard, position where);

/// Changes the number of shards: 1 to 256. What was appended before is sent first, so that messages
/// with the same key keep their order.
/// @par Errors `bad_shards`.
void reshard(db::connection& on, std::uint32_t shards);

}  // namespace mortise::outbox

#endif
