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

/// What operators can see of the inboxes in a database, and do with them.
///
/// @par Errors  All functions throw `error`: `not_an_inbox`, `newer_format`, `older_format`, the
///              codes named below, and the errors of SQLite.
/// @par Threads As for the connection: one at a time.
namespace mortise::outbox {

/// A message that was received and is not yet handled.
class held_message {
public:
    enum class state : std::uint8_t {
        retried,  ///< It is tried again at `due`.
        behind,   ///< It waits behind a message of its key.
        parked,   ///< An operator must look at it.
    };

    held_message() = default;  // declared: no aggregate (docs/compilers.md, G3)

    std::int64_t row = 0;
    std::string inbox;
    outbox::received received;
    state at = state::behind;
    std::uint32_t attempts = 0;
    std::chrono::system_clock::time_point arrived;  ///< When it was first received.
    std::chrono::system_clock::time_point due;
    std::string reason;  ///< Why the last attempt failed.
};

std::string_view to_string(held_message::state state) noexcept;

class inbox_view {
public:
    inbox_view() = default;

    std::string name;
    std::map<std::string, std::int64_t> next;  ///< For each source: the next offset.
    std::uint64_t ids = 0;                     ///< How many ids are remembered.
    std::uint64_t retried = 0;
    std::uint64_t behind = 0;
    std::uint64_t parked = 0;
    /// The age of the message that has been held longest; zero if none is held.
    std::chrono::microseconds oldest{0};
};

std::vector<inbox_view> describe_inboxes(db::connection& on);

/// Lists held messages with row numbers above `after`, in the order of the numbers, at most
/// `limit`.
std::vector<held_message> list_held(db::connection& on, std::int64_t after, std::size_t limit);

// The functions below need an open transaction. Inboxes hear of the change after the commit: at
// once from a closure of `db::sqlite`, else by `ring`.

/// Tries a parked message again, as if for the first time.
/// @par Errors `no_such_row`.
void replay_held(db::connection& on, std::int64_t row);
/// The same for all parked messages. @return how many.
std::size_t replay_all_held(db::connection& on);

/// Gives up a message for ever that is parked or waits for its next attempt. The messages that wait
/// behind it are tried.
/// @par Errors `no_such_row`.
void drop_held(db::connection& on, std::int64_t row);

/// Sets the offset at which an inbox by offsets goes on with a source, for example after its topic
/// was made anew. Messages from that offset on are new to the inbox, all earlier ones are known.
/// The deliverer reads the offset when it starts.
/// @par Errors `no_such_row`: the inbox never received anything from that source; `no_position`.
void move_inbox(
    db::connection& on, std::string_view inbox, std::string_view source, std::int64_t next
);

}  // namespace mortise::outbox

#endif
