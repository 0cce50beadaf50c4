// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_INBOX_VIEW_HPP
#define MORTISE_OUTBOX_INBOX_VIEW_HPP

#include "mortise/db/connection.hpp"
#include "mortise/outbox/received.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What people see of the inboxes in a database, and can do with them.
///
/// @par Errors  All throw `error`: `not_an_inbox`, `newer_format`, `older_format`, what is said
///              below, and what SQLite says.
/// @par Threads As the connection: one at a time.
namespace mortise::outbox {

/// A message that has come and is not dealt with.
class held_message {
public:
    enum class state : std::uint8_t {
        retried,  ///< It is tried again at `due`.
        behind,   ///< It waits behind one of its key.
        parked,   ///< People have to see to it.
    };

    held_message() = default;  // declared: no aggregate (docs/compilers.md, G3)

    std::int64_t row = 0;
    std::string inbox;
    received what;
    state at = state::behind;
    std::uint32_t attempts = 0;
    std::chrono::system_clock::time_point arrived;  ///< When it was received first.
    std::chrono::system_clock::time_point due;
    std::string reason;  ///< Why it failed the last time.
};

std::string_view to_string(held_message::state what) noexcept;

class inbox_view {
public:
    inbox_view() = default;

    std::string name;
    std::map<std::string, std::int64_t> next;  ///< By source: the offset that comes next.
    std::uint64_t ids = 0;                     ///< Remembered.
    std::uint64_t retried = 0;
    std::uint64_t behind = 0;
    std::uint64_t parked = 0;
    /// For how long it has had what it has had for longest of what it holds; zero if it holds none.
    std::chrono::microseconds oldest{0};
};

std::vector<inbox_view> describe_inboxes(db::connection& on);

/// What is held after that row, in the order of their numbers, at most `limit`.
std::vector<held_message> list_held(db::connection& on, std::int64_t after, std::size_t limit);

// In a transaction that is open; inboxes hear of it when it is committed, in a closure of
// `db::sqlite`, else by `ring`.

/// Tries a message again that is parked, as if for the first time.
/// @par Errors `no_such_row`.
void replay_held(db::connection& on, std::int64_t row);
/// The same for all that are parked. @return how many.
std::size_t replay_all_held(db::connection& on);

/// Gives a message up for ever that is parked, or waits for its next attempt; what waits behind it
/// is tried.
/// @par Errors `no_such_row`.
void drop_held(db::connection& on, std::int64_t row);

/// Where an inbox by offsets goes on with a source, whose topic was made anew, say: what comes from
/// that offset on is new to it, and all before is not. Whoever delivers looks when it starts.
/// @par Errors `no_such_row`: it never had anything of that source; `no_position`.
void move_inbox(
    db::connection& on, std::string_view inbox, std::string_view source, std::int64_t next
);

}  // namespace mortise::outbox

#endif
